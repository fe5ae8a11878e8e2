import type { Gateway } from '../../app/gateway.ts'
import type { TranscriptEvent, TranscriptionCall, TranscriptionReply } from '../../call/transcription.ts'
import type { Endpoint } from '../../catalogue/model.ts'
import type { TranscriptionDialect } from '../../dialects/transcriptions/dialect.ts'
import { encodeTranscript } from '../../dialects/transcriptions/encode.ts'
import type { AudioSource } from '../../dialects/transcriptions/recording.ts'
import type { TranscriptionFields } from '../../dialects/transcriptions/schema.ts'
import { simulators } from '../../providers/simulators.ts'
import { UpstreamError, unexpectedReplyError } from '../upstream/errors.ts'
import type { UpstreamExchange } from '../upstream/exchange.ts'
import { buildSimulateOptions } from '../upstream/simulation.ts'
import { filterTranscript } from './filter-transcript.ts'
import { handleMedia } from './media.ts'
import { receiveJson } from './receive.ts'
import { streamMedia } from './reply-streamed.ts'
import { replyWithMedia } from './reply-whole.ts'
import type { IncomingMedia, MediaTask } from './task.ts'
import { readEvents, streamWhole, TranscriptStream } from './transcript-stream.ts'
import { openTranscription, transcriptionSupport } from './transcription-support.ts'

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
  const request = { ...incoming, ...(await openTranscription(task, fields, file)) }
  if (fields.stream) {
    return handleMedia(gateway, request, streamedTask, (_, parsed, admission) =>
      streamMedia(gateway, parsed, admission, streamedTask),
    )
  }
  return handleMedia(gateway, request, wholeTask, (_, parsed, admission) =>
    replyWithMedia(gateway, parsed, admission, wholeTask, (reply, context, call) =>
      encodeTranscript(call, reply, context),
    ),
  )
}

const commonTask = {
  ...transcriptionSupport,
  timeoutMs: 60_000,
  isBilledOnArrival: true,
} as const

const wholeTask: MediaTask<TranscriptionCall, TranscriptionDialect, TranscriptionReply> = {
  ...commonTask,
  receive: receiveJson,
  filterReply: async (reply, filter) => filterTranscript(reply, await filter.redact(reply.text), filter),
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
