import type { Gateway } from '../../app/gateway.ts'
import { timedOut } from '../../lib/coarse-timer.ts'
import type { ReplyStream } from './reply-stream.ts'
import { usageGraceMs } from './stream-timers.ts'

/** Nothing more is to be expected of a reply that is complete and has told its usage. */
export function isFinished({ summary }: ReplyStream): boolean {
  return summary.isComplete && summary.usage !== null
}

/** The connection can be used again once the last byte is read; one that does not end is closed. */
export async function releaseConnection(gateway: Gateway, flow: ReplyStream): Promise<void> {
  await readUntil(gateway, flow, usageGraceMs, () => false)
  flow.cancel()
}

/** How long a reply that nobody waits for is read on. */
const drainMs = 60_000

/** Reads what a provider bills anyway, to learn what it bills. */
export function drainUpstream(gateway: Gateway, flow: ReplyStream): Promise<void> {
  return readUntil(gateway, flow, drainMs, () => isFinished(flow) || flow.summary.failure !== null)
}

/** Reads without passing anything on, until the end, until it is enough, or until the time is up. */
async function readUntil(
  gateway: Gateway,
  flow: ReplyStream,
  ms: number,
  isEnough: () => boolean,
): Promise<void> {
  const deadline = performance.now() + ms
  try {
    for (let text: unknown = ''; text !== null && text !== timedOut && !isEnough(); ) {
      text = await gateway.timer.wait(flow.next(), Math.max(0, deadline - performance.now()))
    }
  } catch (error) {
    gateway.log.debug({ err: error }, 'a reply broke off when nobody needed it any more')
  }
}
