import type { Endpoint } from '../catalog/model.ts'
import type { TokenCounting, WireFormat } from '../formats/wire-format.ts'
import type { Gateway } from '../gateway/gateway.ts'
import { createRelease } from '../ledger/settlement.ts'
import { gatewayError } from '../platform/errors/gateway-error.ts'
import { tryParseJson } from '../platform/json/json.ts'
import { asCount, asObject } from '../platform/json/json-values.ts'
import { ClientDisconnectedError, UpstreamError } from './failures/errors.ts'
import { recordIfBlocked } from './guard/block.ts'
import { recordHits } from './guard/hits.ts'
import { admitFree } from './hold/admit.ts'
import { planRoute } from './plan/plan.ts'
import { dryRun, preparePlugins } from './plugins/apply.ts'
import type { Admitted, IncomingRequest, InferenceRequest } from './request/inference-request.ts'
import { parseRequest } from './request/parse.ts'
import { assertNotRejected } from './request/routing-rules.ts'
import type { Candidate } from './routing/candidate.ts'
import { guardTokenCount } from './stages/guard.ts'
import { prepareTools } from './tool-loop/prepare.ts'
import { propagateTrace } from './upstream/attempt-span.ts'
import { buildUpstreamCall } from './upstream/build-call.ts'
import { UpstreamExchange } from './upstream/exchange.ts'
import { readBounded } from './upstream/read-body.ts'
import { send } from './upstream/send.ts'
import { translate } from './upstream/translate.ts'

/** The tokens of a prompt: counted by the provider if it can, otherwise estimated. */
export async function countTokens(gateway: Gateway, incoming: IncomingRequest): Promise<number> {
  const parsed = await parseRequest(gateway, incoming)
  if (parsed.rule) assertNotRejected(parsed)
  const request = await guardTokenCount(gateway, parsed)
  await recordIfBlocked(gateway, request, preparePlugins(gateway, request, dryRun))
  await recordIfBlocked(gateway, request, prepareTools(gateway, request))
  await recordHits(gateway, request)
  const admitted = await admitFree<InferenceRequest>(gateway, planRoute(gateway, request))
  try {
    return (await countUpstream(gateway, admitted)) ?? request.content.promptTokens
  } finally {
    // Counting is free.
    await gateway.ledger.settle(createRelease(request.id, request.caller.organizationId))
  }
}

async function countUpstream(
  gateway: Gateway,
  request: Admitted<InferenceRequest>,
): Promise<number | undefined> {
  const { wireFormat } = request.format
  const counting = wireFormat?.upstream.tokenCounting
  const candidate = request.plan.candidates.find(
    ({ endpoint }) => wireFormat && canCount(endpoint, wireFormat),
  )
  return candidate && counting && requestCount(gateway, request, candidate, counting)
}

function canCount(endpoint: Endpoint, { name }: WireFormat): boolean {
  const { inProcess, wire } = endpoint.provider
  // A provider with its own wire format has no such endpoint, or another one.
  return !inProcess && !wire?.[name] && endpoint.wireFormats.includes(name)
}

/** Fields that do not affect the count; some providers reject them in a count request. */
const generationFields = [
  'stream',
  'max_tokens',
  'temperature',
  'top_p',
  'top_k',
  'stop_sequences',
  'metadata',
]

/** Requests a count from a provider; undefined if it returns none. */
async function requestCount(
  gateway: Gateway,
  request: InferenceRequest,
  candidate: Candidate,
  { suffix, field, acceptedFields }: TokenCounting,
): Promise<number | undefined> {
  const translation = translate(gateway, request, candidate)
  const generation = buildUpstreamCall(request, translation)
  const counted = Object.entries(translation.upstreamRequest.body).filter(([name]) =>
    acceptedFields ? acceptedFields.includes(name) : !generationFields.includes(name),
  )
  const body = JSON.stringify(Object.fromEntries(counted))
  const exchange = new UpstreamExchange(request.httpRequest.signal, gateway)
  exchange.traceHeaders = propagateTrace(request)
  exchange.setTimeout(gateway.settings.limits.first_byte)
  try {
    const counting = { ...generation, path: generation.path + suffix, body }
    const { response } = await send(gateway, exchange, counting)
    const reply = asObject(tryParseJson(await readBounded(response, maxCountBytes, exchange)))
    return asCount(reply?.[field]) || undefined
  } catch (error) {
    if (error instanceof UpstreamError) return undefined
    throw error instanceof ClientDisconnectedError
      ? gatewayError('request_timeout', 'The client closed the connection.')
      : error
  } finally {
    exchange.release()
  }
}

const maxCountBytes = 64 * 1024
