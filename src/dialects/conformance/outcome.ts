import { collect } from '../../call/event.ts'
import type { GenerateDialect } from '../../catalog/vocabulary.ts'
import type { JsonObject } from '../../lib/loose.ts'
import { dialects } from '../all.ts'
import { carryRequest, overTheWire, replyThrough, ways, whole } from './carry.ts'
import { clientWords } from './client-words.ts'
import { replyDifferences } from './compare-reply.ts'
import { requestDifferences } from './compare-request.ts'
import { clients } from './history.ts'
import { adaptations, replyLosses } from './losses.ts'
import { end, partEvents, type ReplyStory, replyOf, type Streamed } from './reply-stories.ts'
import type { RequestStory } from './request-story.ts'
import { homes, laneOf, targetOf } from './targets.ts'

/** How a client of a format asks for something; null when the format has no words for it. */
export function bodyFor(client: GenerateDialect, { name, call }: RequestStory): JsonObject | null {
  const given = clientWords[client][name]
  const body = given ?? carryRequest(call, client).body
  const asked = dialects[client].client.decodeRequest(body)
  const lost = requestDifferences(call, asked).filter((difference) => !labels.has(difference))
  return lost.length === 0 ? body : null
}

/** What a format may lack, or write otherwise, and still ask for the same. */
const labels: ReadonlySet<string> = new Set([
  'response_format.name',
  'response_format.strict',
  'user',
  'added:tool_choice',
])

/** A request that continues after a reply with this thinking, as a client sends back what it was given. */
export function thinkingOutcome(
  client: GenerateDialect,
  upstream: GenerateDialect,
  parts: Streamed[],
): Outcome {
  const { kept, asks } = clients[client]
  const body = overTheWire(asks(kept(whole(client, replyOf(partEvents(parts), [end('stop')])))))
  const format = parts.flatMap(({ start }) => (start.kind === 'reasoning' ? [start.format] : []))[0]
  const home = format !== undefined && homes[format] === upstream
  const target = targetOf(upstream, home ? { signatures: format } : {})
  const { dropped } =
    client === upstream
      ? dialects[client].same.passRequest(body, target)
      : dialects[upstream].upstream.encodeRequest(dialects[client].client.decodeRequest(body), target)
  return { dropped, notes: [] }
}

export interface Outcome {
  /** What is left out, in the names of `x-headgate-dropped`. */
  dropped: string[]
  /** What arrives in other words. */
  notes: string[]
}

/** What becomes of a client's request at an upstream; the client's own bytes go on where both speak alike. */
export function requestOutcome(
  client: GenerateDialect,
  upstream: GenerateDialect,
  story: RequestStory,
  body: JsonObject,
): Outcome {
  if (client === upstream) {
    const { client: side, same } = dialects[client]
    const target = targetOf(client, laneOf(client, side.decodeRequest(body)))
    const { dropped } = same.passRequest(overTheWire(body), target)
    return { dropped, notes: [] }
  }
  const { dropped, differences } = carryRequest(dialects[client].client.decodeRequest(body), upstream)
  const notes = adaptations
    .filter((entry) => entry.upstream === upstream && entry.stories.includes(story.name))
    .filter((entry) =>
      entry.differences.some((name) => differences.includes(name) && !dropped.includes(name)),
    )
    .map(({ note }) => note)
  return { dropped, notes }
}

/** What a client of a format does not see of a reply, in words; empty when it sees all. */
export function replyOutcome(client: GenerateDialect, { events }: ReplyStory): string[] {
  const lost = ways.flatMap((way) => replyDifferences(collect(events), replyThrough(client, way, events)))
  return replyLosses[client]
    .filter(({ differences }) => differences.some((name) => name !== 'added:text' && lost.includes(name)))
    .map(({ note }) => note)
}
