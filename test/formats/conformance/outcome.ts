import { wireFormats } from '../../../src/formats/all.ts'
import { collectReply } from '../../../src/formats/call/event.ts'
import type { GenerateWireFormat } from '../../../src/formats/vocabulary.ts'
import type { JsonObject } from '../../../src/platform/json/json-values.ts'
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
import { createTarget, nativeWireFormats, resolveTierTarget } from './targets.ts'

/** The body with which a client requests a scenario; null when the format cannot express it. */
export function buildClientBody(
  client: GenerateWireFormat,
  { name, call }: RequestScenario,
): JsonObject | null {
  const scenarioBody = clientScenarioBodies[client][name]
  const body = scenarioBody ?? roundTripRequest(call, client).body
  const decoded = wireFormats[client].client.decodeRequest(body)
  const losses = compareRequests(call, decoded).filter((difference) => !ignoredDifferences.has(difference))
  return losses.length === 0 ? body : null
}

/** Differences that do not change the meaning of a request. */
const ignoredDifferences: ReadonlySet<string> = new Set([
  'response_format.name',
  'response_format.strict',
  'user',
  'added:tool_choice',
])

/** The outcome of a request whose history contains this reasoning. */
export function computeReasoningOutcome(
  client: GenerateWireFormat,
  upstream: GenerateWireFormat,
  parts: StreamedPart[],
): Outcome {
  const { readReply, buildNextRequest } = clients[client]
  const body = toWireJson(
    buildNextRequest(
      readReply(encodeWhole(client, createReplyEvents(createPartEvents(parts), [createChoiceEnd('stop')]))),
    ),
  )
  const format = parts.flatMap(({ start }) => (start.kind === 'reasoning' ? [start.format] : []))[0]
  const isNative = format !== undefined && nativeWireFormats[format] === upstream
  const target = createTarget(upstream, isNative ? { signatureFormat: format } : {})
  const { dropped } =
    client === upstream
      ? wireFormats[client].passthrough.passRequest(body, target)
      : wireFormats[upstream].upstream.encodeRequest(wireFormats[client].client.decodeRequest(body), target)
  return { dropped, notes: [] }
}

export interface Outcome {
  /** Dropped fields, in the names of `x-headgate-dropped`. */
  dropped: string[]
  /** Fields that arrive in another form. */
  notes: string[]
}

/** Computes what an upstream receives of a client's request; passed through when both use the same format. */
export function computeRequestOutcome(
  client: GenerateWireFormat,
  upstream: GenerateWireFormat,
  scenario: RequestScenario,
  body: JsonObject,
): Outcome {
  if (client === upstream) {
    const { client: clientCodec, passthrough } = wireFormats[client]
    const target = createTarget(client, resolveTierTarget(client, clientCodec.decodeRequest(body)))
    const { dropped } = passthrough.passRequest(toWireJson(body), target)
    return { dropped, notes: [] }
  }
  const { dropped, differences } = roundTripRequest(wireFormats[client].client.decodeRequest(body), upstream)
  const notes = adaptations
    .filter((entry) => entry.upstream === upstream && entry.scenarios.includes(scenario.name))
    .filter((entry) =>
      entry.differences.some((name) => differences.includes(name) && !dropped.includes(name)),
    )
    .map(({ note }) => note)
  return { dropped, notes }
}

/** Notes on what a client of a format does not receive; empty when it receives everything. */
export function computeReplyOutcome(client: GenerateWireFormat, { events }: ReplyScenario): string[] {
  const lostNames = replyModes.flatMap((mode) =>
    compareReplies(collectReply(events), roundTripReply(client, mode, events)),
  )
  return replyLosses[client]
    .filter(({ differences }) =>
      differences.some((name) => name !== 'added:text' && lostNames.includes(name)),
    )
    .map(({ note }) => note)
}
