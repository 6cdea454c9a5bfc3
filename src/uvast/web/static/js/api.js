/** Requests to the server: an answer, or an error with one sentence. */

/** A refusal by the server, or a failure to reach it. */
export class ApiError extends Error {
  /**
   * @param {string} sentence for people
   * @param {number} status 0 if there was no answer at all
   * @param {any} [answer]
   */
  constructor(sentence, status, answer = null) {
    super(sentence);
    this.status = status;
    this.answer = answer;
  }

  /** The same request may work later. */
  get isPassing() {
    return this.status === 0 || this.status === 403 || this.status === 507 || this.status >= 500;
  }
}

const NO_ANSWER = "The app is not responding. Is it still running in its terminal?";
const NOT_LET_IN = "The app was restarted: open the address that its terminal shows.";

/** Seconds to wait for an answer; `LONG` if the server has to look at all videos. */
const PATIENCE = 30;
export const LONG = 600;

/**
 * @param {string} address
 * @param {"json" | "arrayBuffer"} kind of the answer
 * @param {number} seconds to wait for it
 * @param {RequestInit} [options]
 */
async function request(address, kind, seconds, options = {}) {
  const signal = AbortSignal.timeout(seconds * 1000);
  let response, answer;
  try {
    response = await fetch(address, { credentials: "same-origin", signal, ...options });
    answer = response.ok ? await response[kind]() : await response.json().catch(() => ({}));
  } catch {
    throw new ApiError(NO_ANSWER, 0); // or the answer was cut off
  }
  if (response.ok) return answer;
  const sentence = response.status === 403 ? NOT_LET_IN : answer.error;
  throw new ApiError(
    sentence ?? `The app answered with ${response.status}.`,
    response.status,
    answer,
  );
}

/** @param {string} address @param {number} [seconds] to wait for the answer */
export function get(address, seconds = PATIENCE) {
  return request(address, "json", seconds);
}

/** @param {string} address @returns {Promise<ArrayBuffer>} */
export function getBytes(address) {
  return request(address, "arrayBuffer", LONG);
}

/** @param {string} address @param {object} body @param {number} [seconds] to wait for the answer */
export function post(address, body, seconds = PATIENCE) {
  const headers = { "Content-Type": "application/json" };
  return request(address, "json", seconds, { method: "POST", headers, body: JSON.stringify(body) });
}

/** A random key for a request that must take effect only once, even if its answer gets lost. */
export function newKey() {
  const numbers = crypto.getRandomValues(new Uint32Array(4));
  return [...numbers].map((one) => one.toString(16).padStart(8, "0")).join("");
}

/**
 * Sends a file unchanged; `onprogress` gets the share sent so far.
 * @param {string} address @param {File} file @param {(share: number) => void} [onprogress]
 */
export function upload(address, file, onprogress = () => {}) {
  return new Promise((resolve, reject) => {
    const sender = new XMLHttpRequest();
    sender.open("POST", address);
    sender.responseType = "json";
    sender.setRequestHeader("Content-Type", "application/octet-stream");
    sender.setRequestHeader("X-Name", encodeURIComponent(file.name));
    sender.upload.onprogress = (event) => event.lengthComputable
      && onprogress(event.loaded / event.total);
    sender.onerror = () => reject(new ApiError(NO_ANSWER, 0));
    sender.onload = () => {
      if (sender.status < 300) resolve(sender.response);
      else {
        reject(new ApiError(sender.response?.error ?? NOT_LET_IN, sender.status, sender.response));
      }
    };
    sender.send(file);
  });
}

/**
 * The address of something that belongs to a video, such as a frame.
 * @param {string} kind
 * @param {string} name
 * @param {Record<string, any>} [query]
 */
export function addressOf(kind, name, query = {}) {
  const text = new URLSearchParams(query).toString();
  return `/${kind}/${encodeURIComponent(name)}${text ? `?${text}` : ""}`;
}
