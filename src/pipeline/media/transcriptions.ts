import type { Gateway } from '../../app/gateway.ts'
import type { TranscriptEvent, TranscriptionCall, TranscriptionReply } from '../../call/transcription.ts'
import type { Endpoint } from '../../catalogue/model.ts'
import { transcriptionDialects } from '../../dialects/transcriptions/all.ts'
import {
  buildPrompt,
  decodeInputAudio,
  decodeTranscription,
  measureTranscription,
} from '../../dialects/transcriptions/decode.ts'
import type { TranscriptionDialect } from '../../dialects/transcriptions/dialect.ts'
import { encodeTranscript } from '../../dialects/transcriptions/encode.ts'
import { type AudioSource, readRecording } from '../../dialects/transcriptions/recording.ts'
import type { TranscriptionFields } from '../../dialects/transcriptions/schema.ts'
import { asObject, type JsonObject } from '../../lib/json-values.ts'
import { simulators } from '../../providers/simulators.ts'
import { UpstreamError, unexpectedReplyError } from '../upstream/errors.ts'
import type { UpstreamExchange } from '../upstream/exchange.ts'
import { buildSimulateOptions } from '../upstream/simulation.ts'
import { handleMedia } from './media.ts'
import { receiveJson } from './receive.ts'
import { streamMedia } from './reply-streamed.ts'
import { replyWithMedia } from './reply-whole.ts'
import type { FieldProblem, IncomingMedia, MediaTask } from './task.ts'
import { readEvents, streamWhole, TranscriptStream } from './transcript-stream.ts'

export interface IncomingTranscription
  extends Pick<IncomingMedia<TranscriptionCall>, 'caller' | 'region' | 'httpRequest'> {
  task: TranscriptionCall['task']
  /** Validated by the schema of the operation. */
  fields: TranscriptionFields
  /** The uploaded file; absent if the recording is in `fields`. */
  file?: AudioSource
}

/** Transcribes a recording, or translates it into English. */
export async function handleTranscription(
  gateway: Gateway,
  { task, fields, file, ...incoming }: IncomingTranscription,
): Promise<Response> {
  const decoded = await decodeRequest(task, fields, file)
  const request = { ...incoming, ...decoded }
  if (decoded.call.stream) {
    return handleMedia(gateway, request, streamedTask, (_, parsed, admission) =>
      streamMedia(gateway, parsed, admission, streamedTask),
    )
  }
  return handleMedia(gateway, request, transcriptionsTask, (_, parsed, admission) =>
    replyWithMedia(gateway, parsed, admission, transcriptionsTask, (reply, context) =>
      encodeTranscript(decoded.call, reply, context),
    ),
  )
}

/** Checks the recording: that of a JSON body if there is no file. */
export async function decodeRequest(
  task: TranscriptionCall['task'],
  fields: TranscriptionFields,
  file?: AudioSource,
): Promise<Pick<IncomingMedia<TranscriptionCall>, 'body' | 'call' | 'prompt' | 'size'>> {
  const recording = await readRecording(file ?? (await decodeInputAudio(fields)))
  const call = decodeTranscription(task, fields, recording)
  return { body: omitAudio(fields), call, prompt: buildPrompt(call), size: measureTranscription(call) }
}

function omitAudio({ input_audio, ...fields }: JsonObject): JsonObject {
  const audio = asObject(input_audio)
  return audio ? { ...fields, input_audio: { format: audio.format } } : fields
}

const commonTask = {
  name: 'transcriptions',
  dialects: transcriptionDialects,
  timeoutMs: 60_000,
  isBilledOnArrival: true,
  findProblem,
  listAllowedOptions: (endpoint: Endpoint) => findDialect(endpoint)?.options ?? [],
} as const

export const transcriptionsTask: MediaTask<TranscriptionCall, TranscriptionDialect, TranscriptionReply> = {
  ...commonTask,
  receive: receiveJson,
  simulate: (gateway, exchange, call, endpoint) => {
    const events = simulateEvents(gateway, exchange, call, endpoint)
    return events && collectReply(exchange, events)
  },
}

const streamedTask: MediaTask<TranscriptionCall, TranscriptionDialect, TranscriptStream> = {
  ...commonTask,
  receive: async (exchange, upstream, { call, dialect }, gateway) => {
    const reader = dialect.createReader?.(call)
    const isStream = upstream.response.headers.get('content-type')?.startsWith('text/event-stream')
    const events =
      reader && isStream
        ? readEvents(gateway, upstream, reader)
        : streamWhole(await receiveJson(exchange, upstream, { call, dialect }))
    return TranscriptStream.open(gateway, exchange, events, call)
  },
  simulate: (gateway, exchange, call, endpoint) => {
    const events = simulateEvents(gateway, exchange, call, endpoint)
    return events && TranscriptStream.open(gateway, exchange, events, call)
  },
}

function findDialect({ dialects }: Endpoint): TranscriptionDialect | undefined {
  const known: Readonly<Record<string, TranscriptionDialect>> = transcriptionDialects
  return dialects.map((name) => known[name]).find((dialect) => dialect !== undefined)
}

function findProblem({ task }: TranscriptionCall, endpoint: Endpoint): FieldProblem | null {
  if (task !== 'translate' || findDialect(endpoint)?.translates !== false) return null
  return { field: 'model', problem: 'cannot translate; send the recording to POST /audio/transcriptions' }
}

function simulateEvents(
  gateway: Gateway,
  exchange: UpstreamExchange,
  call: TranscriptionCall,
  { provider }: Endpoint,
): AsyncGenerator<TranscriptEvent> | undefined {
  return simulators.get(provider.slug)?.transcriptions(call, buildSimulateOptions(gateway, exchange))
}

async function collectReply(
  exchange: UpstreamExchange,
  events: AsyncGenerator<TranscriptEvent>,
): Promise<TranscriptionReply> {
  try {
    for await (const event of events) {
      if (event.type === 'error') throw new UpstreamError(event.failure)
      if (event.type !== 'done') continue
      exchange.release()
      return event.reply
    }
  } catch (error) {
    throw exchange.toError(error)
  }
  throw unexpectedReplyError('The provider ended its reply before it was complete.')
}
