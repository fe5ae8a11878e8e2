import type { Endpoint } from '../../catalog/model.ts'
import { simulators } from '../../catalog/providers/simulators.ts'
import type {
  TranscriptEvent,
  TranscriptionCall,
  TranscriptionReply,
} from '../../formats/call/transcription.ts'
import type { TranscriptionWireFormat } from '../../formats/transcriptions/wire-format.ts'
import type { Gateway } from '../../gateway/gateway.ts'
import { UpstreamError, unexpectedReplyError } from '../failures/errors.ts'
import type { UpstreamExchange } from '../upstream/exchange.ts'
import { buildSimulateOptions } from '../upstream/simulation.ts'
import { filterTranscript } from './filter-transcript.ts'
import { receiveJson } from './receive.ts'
import type { MediaTask } from './task.ts'
import { readEvents, streamWhole, TranscriptStream } from './transcript-stream.ts'
import { transcriptionSupport } from './transcription-support.ts'

const commonTask = {
  ...transcriptionSupport,
  timeoutMs: 60_000,
  isBilledOnArrival: true,
} as const

export const wholeTask: MediaTask<TranscriptionCall, TranscriptionWireFormat, TranscriptionReply> = {
  ...commonTask,
  receive: receiveJson,
  filterReply: async (reply, filter) => filterTranscript(reply, await filter.redact(reply.text), filter),
  simulate: (gateway, exchange, call, endpoint) => {
    const events = simulateEvents(gateway, exchange, call, endpoint)
    return events && collectReply(exchange, events)
  },
}

export const streamedTask: MediaTask<TranscriptionCall, TranscriptionWireFormat, TranscriptStream> = {
  ...commonTask,
  receive: async (exchange, upstream, { call, wireFormat }, gateway) => {
    const reader = wireFormat.createReader?.(call)
    const isStream = upstream.response.headers.get('content-type')?.startsWith('text/event-stream')
    const events =
      reader && isStream
        ? readEvents(gateway, upstream, reader)
        : streamWhole(await receiveJson(exchange, upstream, { call, wireFormat }))
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
