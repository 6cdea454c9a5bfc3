"""A user's project: videos, features, labels and runs in one folder, which is also a dataset.

PROJECT/videos.json            the videos, linked by path; makes a folder a project
PROJECT/annotations/NAME.json  what people said, in seconds: the only source of labels
PROJECT/features/NAME.npy      with NAME.json, which has the time of every frame
PROJECT/groundTruth …          derived from the annotations at the features' frames
PROJECT/runs/1, 2, …           run folders
"""

from uvast.projects.project import Project, is_project
from uvast.projects.supervising import LabelledVideos
from uvast.projects.videos import ProjectVideo

__all__ = ["LabelledVideos", "Project", "ProjectVideo", "is_project"]
