/** News from the server: a stream of events that comes back by itself after a break. */

/**
 * @param {(news: any) => void} onnews
 * @param {(connected: boolean) => void} onconnection
 */
export function listen(onnews, onconnection) {
  const stream = new EventSource("/api/events");
  stream.onmessage = (event) => onnews(JSON.parse(event.data));
  stream.onopen = () => onconnection(true);
  stream.onerror = () => {
    onconnection(false);
    // a refusal closes the stream for good; the token may be right again after a restart
    if (stream.readyState === EventSource.CLOSED) {
      setTimeout(() => listen(onnews, onconnection), 3000);
    }
  };
}
