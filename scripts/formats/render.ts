import type { ReplyEvent } from '../../src/formats/call/event.ts'
import { collectReply } from '../../src/formats/call/event.ts'
import { zeroUsage } from '../../src/formats/call/usage.ts'
import type { ClientCodec, ReplyContext } from '../../src/formats/wire-format.ts'
import type { Outcome } from '../../test/formats/conformance/outcome.ts'
import {
  createChoiceEnd,
  createPartEvents,
  createReplyEvents,
  plainUsage,
  textPart,
} from '../../test/formats/conformance/reply-scenarios.ts'
import { cost } from '../../test/formats/conformance/round-trip.ts'
import type { Example } from './pages.ts'

/** The reply that the streams on the pages have. */
export const sampleReply = createReplyEvents(
  createPartEvents([textPart('Hel', 'lo')]),
  [createChoiceEnd('stop')],
  plainUsage,
)

export function formatCurl({ path, auth, body }: Example): string {
  const headers = Object.entries(auth('$INFERENCE_KEY')).map(([header, value]) => `-H "${header}: ${value}"`)
  return `curl -sN "$HEADGATE_URL${path}" \\
  ${headers.join(' ')} -H "Content-Type: application/json" \\
  -d '${JSON.stringify(body)}'`
}

export function formatCell({ dropped, notes }: Outcome): string {
  const droppedText =
    dropped.length > 0 ? [`dropped: ${dropped.map((name) => `\`${name}\``).join(', ')}`] : []
  return [...droppedText, ...notes].join('; ') || 'yes'
}

/** The stream of a format that only clients use. */
export function writeStream(
  { createWriter }: Pick<ClientCodec, 'createWriter'>,
  events: ReplyEvent[],
  context: ReplyContext,
): string {
  const writer = createWriter(context)
  const usage = collectReply(events).usage ?? zeroUsage
  const contents = events.filter(({ type }) => type !== 'reply-end')
  return contents.map((event) => writer.write(event)).join('') + writer.end(usage, cost)
}

/** Truncates long events: only their structure matters. */
export function shortenLines(stream: string, maxLength = 220): string {
  return stream
    .trim()
    .replaceAll(/"completed_at":\d+/g, '"completed_at":1790000001')
    .split('\n')
    .map((line) => (line.length > maxLength ? `${line.slice(0, maxLength)} …` : line))
    .join('\n')
}
