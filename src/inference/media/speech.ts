import type { Endpoint, SpeechCapabilities } from '../../catalog/model.ts'
import { simulators } from '../../catalog/providers/simulators.ts'
import type { SpeechCall, SpeechEvent } from '../../formats/call/speech.ts'
import { describeBodyFields } from '../../formats/schema/body-fields.ts'
import { speechWireFormats } from '../../formats/speech/all.ts'
import { speechRequest } from '../../formats/speech/schema.ts'
import type { SpeechReader, SpeechWireFormat } from '../../formats/speech/wire-format.ts'
import type { SpeechFormat } from '../../formats/vocabulary.ts'
import type { Gateway } from '../../gateway/gateway.ts'
import { SseError } from '../../platform/http/sse.ts'
import { unexpectedReplyError } from '../failures/errors.ts'
import { redactSecrets } from '../failures/redact-secrets.ts'
import { readJsonBody } from '../upstream/decode-reply.ts'
import type { UpstreamExchange } from '../upstream/exchange.ts'
import type { UpstreamResponse } from '../upstream/send.ts'
import { buildSimulateOptions } from '../upstream/simulation.ts'
import { type CreateWriter, createOwnWriter, SpeechStream } from './speech-stream.ts'
import type { FieldProblem, MediaTask } from './task.ts'

const sharedTask = {
  name: 'speech',
  fields: describeBodyFields(speechRequest.shape),
  wireFormats: speechWireFormats,
  findProblem,
  // A simulation has none.
  listAllowedOptions: ({ provider, wireFormats }: Endpoint) =>
    provider.inProcess ? [] : findWireFormat(wireFormats)?.options,
} as const

function buildReceivers(
  createWriter: CreateWriter,
): Pick<MediaTask<SpeechCall, SpeechWireFormat, SpeechStream>, 'receive' | 'simulate'> {
  return {
    async receive(exchange, upstream, { call, wireFormat, endpoint }, gateway) {
      const events = await readEvents(exchange, upstream, call, wireFormat)
      return openStream(gateway, exchange, events, call, endpoint, createWriter)
    },
    simulate(gateway, exchange, call, endpoint) {
      const simulate = simulators.get(endpoint.provider.slug)?.speech
      const events = simulate?.(call, buildSimulateOptions(gateway, exchange))
      return events && openStream(gateway, exchange, events, call, endpoint, createWriter)
    },
  }
}

/** The speech task for clients of this API. */
export const speechTask = defineSpeechTask(createOwnWriter)

/** Defines the speech task for clients that receive the audio in another way. */
export function defineSpeechTask(
  createWriter: CreateWriter,
): MediaTask<SpeechCall, SpeechWireFormat, SpeechStream> {
  return { ...sharedTask, ...buildReceivers(createWriter) }
}

async function openStream(
  { settings }: Gateway,
  exchange: UpstreamExchange,
  events: AsyncIterator<SpeechEvent>,
  call: SpeechCall,
  { prompt_unit }: Endpoint,
  createWriter: CreateWriter,
): Promise<SpeechStream> {
  const stream = await SpeechStream.open(events, exchange, call, prompt_unit === 'token', createWriter)
  // From here on the idle timeout applies.
  exchange.setTimeout(settings.limits.total)
  return stream
}

async function readEvents(
  exchange: UpstreamExchange,
  upstream: UpstreamResponse,
  call: SpeechCall,
  wireFormat: SpeechWireFormat,
): Promise<AsyncGenerator<SpeechEvent>> {
  if ('decodeReply' in wireFormat) {
    const events = wireFormat.decodeReply(await readJsonBody(exchange, upstream), call)
    if (events) return iterate(events)
  } else {
    const reader = wireFormat.createReader(upstream.response.headers.get('content-type') ?? '')
    if (reader) return readBody(upstream, reader)
  }
  throw unexpectedReplyError('The provider sent a reply in another format.')
}

async function* iterate(events: Iterable<SpeechEvent>): AsyncGenerator<SpeechEvent> {
  yield* events
}

async function* readBody(
  { response, secrets }: UpstreamResponse,
  reader: SpeechReader,
): AsyncGenerator<SpeechEvent> {
  const redact = (event: SpeechEvent) => redactFailure(event, secrets)
  try {
    for await (const bytes of response.body ?? []) yield* reader.read(bytes).map(redact)
    yield* reader.end().map(redact)
  } catch (error) {
    throw error instanceof SseError ? unexpectedReplyError(error.message) : error
  }
}

function redactFailure(event: SpeechEvent, secrets: UpstreamResponse['secrets']): SpeechEvent {
  if (event.type !== 'reply-error') return event
  const { failure } = event
  return { ...event, failure: { ...failure, message: redactSecrets(failure.message, secrets()) } }
}

/** Finds the reason why the endpoint cannot serve the request; null if it can. */
function findProblem(call: SpeechCall, endpoint: Endpoint): FieldProblem | null {
  const { speech } = endpoint
  if (!speech) return null
  const formats = listFormats(endpoint, speech)
  if (!formats.includes(call.format))
    return { field: 'response_format', problem: `must be one of ${formats.join(', ')} for this model` }
  const { default_voice, supports_voice_cloning } = speech
  if (call.reference && !(supports_voice_cloning && findWireFormat(endpoint.wireFormats)?.sendsReferences))
    return { field: 'input_references', problem: 'is not supported by this model: it cannot imitate a voice' }
  const rule = describeVoices(speech)
  if (call.voice === undefined && default_voice === null && !call.reference)
    return { field: 'voice', problem: `is required, because this model has no default voice; ${rule}` }
  return acceptsVoice(call, speech) ? null : { field: 'voice', problem: `${rule} for this model` }
}

function acceptsVoice(
  { voice, isCustomVoice }: SpeechCall,
  { voices, accepts_unlisted_voices }: SpeechCapabilities,
): boolean {
  if (voice === undefined || isCustomVoice || accepts_unlisted_voices) return true
  return voices === null || voices.includes(voice)
}

function describeVoices({ voices, accepts_unlisted_voices }: SpeechCapabilities): string {
  if (!voices) return 'must be the name of a voice'
  return accepts_unlisted_voices
    ? `must be a voice of the provider, such as ${voices.slice(0, 3).join(', ')}`
    : `must be one of ${voices.join(', ')}`
}

/** Lists the formats that the endpoint can make and its wire format can request. */
function listFormats({ wireFormats }: Endpoint, { formats }: SpeechCapabilities): readonly SpeechFormat[] {
  const supported = findWireFormat(wireFormats)?.formats ?? []
  return formats ? formats.filter((format) => supported.includes(format)) : supported
}

function findWireFormat(names: Endpoint['wireFormats']): SpeechWireFormat | undefined {
  const known: Readonly<Record<string, SpeechWireFormat>> = speechWireFormats
  return names.map((name) => known[name]).find((wireFormat) => wireFormat !== undefined)
}
