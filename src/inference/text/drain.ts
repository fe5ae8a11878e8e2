import type { Gateway } from '../../gateway/gateway.ts'
import { type LoggedRequest, logOf } from '../../platform/logging/request-log.ts'
import { timedOut } from '../../platform/time/coarse-timer.ts'
import { isFinished, type ReplyStream, usageGraceMs } from '../reply/reply-stream.ts'

/** Reads to the last byte, so that the connection can be reused; closes it if the stream does not end. */
export async function releaseConnection(
  gateway: Gateway,
  request: LoggedRequest,
  stream: ReplyStream,
): Promise<void> {
  await readUntil(gateway, request, stream, usageGraceMs, () => false)
  stream.cancel()
}

/** Milliseconds that a reply is read after its client has disconnected. */
const drainMs = 60_000

/** Reads a reply that the provider bills anyway, for its usage. */
export function drainUpstream(gateway: Gateway, request: LoggedRequest, stream: ReplyStream): Promise<void> {
  return readUntil(
    gateway,
    request,
    stream,
    drainMs,
    () => isFinished(stream) || stream.summary.failure !== null,
  )
}

/** Reads and discards, until the end of the stream, `isEnough` or the timeout. */
async function readUntil(
  gateway: Gateway,
  request: LoggedRequest,
  stream: ReplyStream,
  ms: number,
  isEnough: () => boolean,
): Promise<void> {
  const deadline = gateway.timer.now() + ms
  try {
    for (let text: unknown = ''; text !== null && text !== timedOut && !isEnough(); ) {
      text = await gateway.timer.wait(stream.next(), Math.max(0, deadline - gateway.timer.now()))
    }
  } catch (error) {
    logOf(gateway, request).debug({ err: error }, 'a reply failed while it was drained')
  }
}
