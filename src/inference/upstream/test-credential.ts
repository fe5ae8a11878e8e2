import type { ByokKey } from '../../catalog/byok-keys.ts'
import { type CatalogProvider, type Endpoint, hasOutput } from '../../catalog/model.ts'
import { simulators } from '../../catalog/providers/simulators.ts'
import type { ModelCall } from '../../formats/call/call.ts'
import type { ReplyEvent } from '../../formats/call/event.ts'
import { isTextWireFormat } from '../../formats/vocabulary.ts'
import { newReplySummary } from '../../formats/wire-format.ts'
import type { Gateway } from '../../gateway/gateway.ts'
import { invalidFieldError } from '../../platform/errors/gateway-error.ts'
import { withDeadline } from '../../platform/time/deadline.ts'
import { timeoutError, UpstreamError } from '../failures/errors.ts'
import { recordEvent } from '../reply/summary.ts'
import { type Candidate, createCandidate } from '../routing/candidate.ts'
import { isKeyForModel } from '../routing/filter.ts'
import { resolveFirstAccess, type UpstreamAccess } from './access.ts'
import { adaptCall } from './build-call.ts'
import { assertFinished, receiveBody } from './decode-reply.ts'
import { UpstreamExchange } from './exchange.ts'
import { send } from './send.ts'
import { buildSimulateOptions, collectEvents } from './simulation.ts'
import { createFailedOutcome, findFailedStep, type TestOutcome, toFailedOutcome } from './test-outcome.ts'
import { encodeCall } from './translate.ts'

/** A person waits for the outcome. */
const timeoutMs = 20_000

/** Some models reject a lower limit. */
const maxTokens = 16

const maxReplyBytes = 1024 * 1024

const testCall: ModelCall = {
  messages: [{ role: 'user', parts: [{ kind: 'text', text: 'Hi' }] }],
  maxTokens,
  stream: false,
  unknown: [],
}

export interface CredentialTest {
  provider: CatalogProvider
  /** The BYOK key to test; null: the installation's credential. */
  byokKey: ByokKey | null
  /** The model to ask; the cheapest without one. */
  model?: string | undefined
}

/**
 * Sends a request of a few tokens to a text model. It is not recorded, charged or counted for health. A client that
 * disconnects does not end it: the audit log has the outcome of every test.
 */
export async function testCredential(gateway: Gateway, test: CredentialTest): Promise<TestOutcome> {
  const { found, problem } = resolveFirstAccess(gateway, listCandidates(gateway, test), 'global')
  if (!found) return describeUnsent(problem)
  const { candidate, access } = found
  if (!generatesText(access.endpoint)) return describeUnsent('The deployment of this model is not for text.')
  const exchange = new UpstreamExchange(new AbortController().signal, gateway)
  exchange.setTimeout(timeoutMs)
  const startedAt = performance.now()
  const outcome = await request(gateway, exchange, candidate, access)
  return {
    ...outcome,
    model: candidate.model.id,
    endpoint: candidate.endpoint.tag,
    duration_ms: Math.round(performance.now() - startedAt),
  }
}

const noModelText = 'The catalog has no text model of this provider to ask.'
const noModelRemedy = 'Add a model of the provider to the catalog to test it.'

function describeUnsent(problem: string | null): TestOutcome {
  return problem === null
    ? createFailedOutcome('model', { message: noModelText, remedy: noModelRemedy })
    : createFailedOutcome('credential', { message: problem })
}

/** Text models that the credential has permission for, the cheapest first. */
function listCandidates({ catalog }: Gateway, { provider, byokKey, model: id }: CredentialTest): Candidate[] {
  const candidates = catalog.models
    .filter((model) => id === undefined || model.id === id)
    .filter((model) => hasOutput(model, 'text') && (!byokKey || isKeyForModel(byokKey, model)))
    .flatMap((model) =>
      model.endpoints
        .filter((endpoint) => endpoint.provider.slug === provider.slug && generatesText(endpoint))
        .map((endpoint) => createCandidate(model, endpoint, byokKey)),
    )
  if (id !== undefined && candidates.length === 0)
    throw invalidFieldError(
      'model',
      'is not a text model that this provider offers and the credential may use',
    )
  return candidates.sort((one, other) => one.endpoint.price - other.endpoint.price)
}

function generatesText({ wireFormats, service_tier }: Endpoint): boolean {
  return service_tier === null && wireFormats.some(isTextWireFormat)
}

async function request(
  gateway: Gateway,
  exchange: UpstreamExchange,
  candidate: Candidate,
  access: UpstreamAccess,
): Promise<TestOutcome> {
  try {
    await requestReply(gateway, exchange, candidate, access)
    return succeeded
  } catch (error) {
    if (!(error instanceof UpstreamError)) throw error
    const step = findFailedStep(error)
    const isUnresolved = step === 'connection' && !access.isUserNamed && !(await resolves(gateway, access))
    return toFailedOutcome(error, isUnresolved ? 'dns' : step)
  } finally {
    exchange.release()
  }
}

const succeeded: TestOutcome = {
  ok: true,
  model: null,
  endpoint: null,
  duration_ms: null,
  failed_step: null,
  status: 200,
  message: 'The provider accepted the credential, and the model answered.',
  remedy: null,
  provider_message: null,
}

/** Requests a reply. Throws unless it is that of a model. */
async function requestReply(
  gateway: Gateway,
  exchange: UpstreamExchange,
  { model, endpoint }: Candidate,
  access: UpstreamAccess,
): Promise<void> {
  const simulate = simulators.get(endpoint.provider.slug)?.text
  if (simulate) {
    const events = simulate(testCall, endpoint.upstream_model, buildSimulateOptions(gateway, exchange))
    assertReply(await collectEvents(gateway, exchange, events))
    return
  }
  const encoded = encodeCall(testCall, model, access.endpoint)
  const { body, ...call } = adaptCall({ ...encoded, access }, testCall.stream)
  const response = await send(gateway, exchange, { ...call, body: JSON.stringify(body) })
  const { body: reply } = await receiveBody(exchange, { ...response, maxBytes: maxReplyBytes }, encoded)
  assertReply(encoded.wireFormat.upstream.decodeReply(reply))
}

function assertReply(events: ReplyEvent[]): void {
  const summary = newReplySummary()
  for (const event of events) recordEvent(summary, event, null)
  if (!summary.hasContent) assertFinished(summary)
}

/** The runtime does not say whether a connection failed for want of an address. */
async function resolves(
  { upstreams: { origins }, settings }: Gateway,
  { baseUrl }: UpstreamAccess,
): Promise<boolean> {
  return withDeadline(settings.limits.connect, origins.resolves(baseUrl), timeoutError).catch(() => false)
}
