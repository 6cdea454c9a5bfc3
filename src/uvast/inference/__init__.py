"""From a trained model to segmentations."""
