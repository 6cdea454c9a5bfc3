/**
 * News from the server: a stream of events that reconnects by itself. A hidden tab closes its
 * stream: a browser has six connections per host, and a seventh tab would get none.
 */

const SECONDS_TO_RETRY = 3;

/**
 * @param {(news: any) => void} onnews
 * @param {(connected: boolean, isRefused?: boolean) => void} onconnection true at every start:
 *   earlier news was missed; refused if somebody answers, but not with news
 */
export function listen(onnews, onconnection) {
  let [stream, timer] = [null, 0];
  const close = () => {
    clearTimeout(timer);
    stream?.close();
  };
  const open = () => {
    close();
    stream = new EventSource("/api/events");
    stream.onmessage = (event) => onnews(JSON.parse(event.data));
    stream.onopen = () => onconnection(true);
    stream.onerror = () => {
      // a refusal closes the stream for good; the token may be right again after a restart
      const isClosed = stream.readyState === EventSource.CLOSED;
      onconnection(false, isClosed);
      if (isClosed) {
        timer = setTimeout(open, SECONDS_TO_RETRY * 1000);
      }
    };
  };
  document.addEventListener("visibilitychange", () => (document.hidden ? close() : open()));
  if (!document.hidden) open();
}
