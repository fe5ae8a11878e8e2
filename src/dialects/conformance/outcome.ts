import { collectReply } from '../../call/event.ts'
import type { GenerateDialect } from '../../catalogue/vocabulary.ts'
import type { JsonObject } from '../../lib/json-values.ts'
import { dialects } from '../all.ts'
import { clients } from './client-history.ts'
import { clientScenarioBodies } from './client-scenarios.ts'
import { compareReplies } from './compare-reply.ts'
import { compareRequests } from './compare-request.ts'
import { adaptations, replyLosses } from './losses.ts'
import {
  createChoiceEnd,
  createPartEvents,
  createReplyEvents,
  type ReplyScenario,
  type StreamedPart,
} from './reply-scenarios.ts'
import type { RequestScenario } from './request-scenario.ts'
import { encodeWhole, replyModes, roundTripReply, roundTripRequest, toWireJson } from './round-trip.ts'
import { createTarget, nativeDialects, resolveTierTarget } from './targets.ts'

/** How a client of a format asks for something; null when the format has no words for it. */
export function buildClientBody(client: GenerateDialect, { name, call }: RequestScenario): JsonObject | null {
  const scenarioBody = clientScenarioBodies[client][name]
  const body = scenarioBody ?? roundTripRequest(call, client).body
  const decoded = dialects[client].client.decodeRequest(body)
  const losses = compareRequests(call, decoded).filter((difference) => !ignoredDifferences.has(difference))
  return losses.length === 0 ? body : null
}

/** What a format may lack, or write otherwise, and still ask for the same. */
const ignoredDifferences: ReadonlySet<string> = new Set([
  'response_format.name',
  'response_format.strict',
  'user',
  'added:tool_choice',
])

/** A request that continues after a reply with this thinking, as a client sends back what it was given. */
export function computeReasoningOutcome(
  client: GenerateDialect,
  upstream: GenerateDialect,
  parts: StreamedPart[],
): Outcome {
  const { readReply, buildNextRequest } = clients[client]
  const body = toWireJson(
    buildNextRequest(
      readReply(encodeWhole(client, createReplyEvents(createPartEvents(parts), [createChoiceEnd('stop')]))),
    ),
  )
  const format = parts.flatMap(({ start }) => (start.kind === 'reasoning' ? [start.format] : []))[0]
  const isNative = format !== undefined && nativeDialects[format] === upstream
  const target = createTarget(upstream, isNative ? { signatureFormat: format } : {})
  const { dropped } =
    client === upstream
      ? dialects[client].passthrough.passRequest(body, target)
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
export function computeRequestOutcome(
  client: GenerateDialect,
  upstream: GenerateDialect,
  scenario: RequestScenario,
  body: JsonObject,
): Outcome {
  if (client === upstream) {
    const { client: clientCodec, passthrough } = dialects[client]
    const target = createTarget(client, resolveTierTarget(client, clientCodec.decodeRequest(body)))
    const { dropped } = passthrough.passRequest(toWireJson(body), target)
    return { dropped, notes: [] }
  }
  const { dropped, differences } = roundTripRequest(dialects[client].client.decodeRequest(body), upstream)
  const notes = adaptations
    .filter((entry) => entry.upstream === upstream && entry.scenarios.includes(scenario.name))
    .filter((entry) =>
      entry.differences.some((name) => differences.includes(name) && !dropped.includes(name)),
    )
    .map(({ note }) => note)
  return { dropped, notes }
}

/** What a client of a format does not see of a reply, in words; empty when it sees all. */
export function computeReplyOutcome(client: GenerateDialect, { events }: ReplyScenario): string[] {
  const lostNames = replyModes.flatMap((mode) =>
    compareReplies(collectReply(events), roundTripReply(client, mode, events)),
  )
  return replyLosses[client]
    .filter(({ differences }) =>
      differences.some((name) => name !== 'added:text' && lostNames.includes(name)),
    )
    .map(({ note }) => note)
}
