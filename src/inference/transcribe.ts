import type { TranscriptionCall } from '../formats/call/transcription.ts'
import { encodeTranscript } from '../formats/transcriptions/encode.ts'
import type { AudioSource } from '../formats/transcriptions/recording.ts'
import type { TranscriptionFields } from '../formats/transcriptions/schema.ts'
import type { Gateway } from '../gateway/gateway.ts'
import { streamMedia } from './media/reply-streamed.ts'
import { replyWithMedia } from './media/reply-whole.ts'
import type { IncomingMedia } from './media/task.ts'
import { openTranscription } from './media/transcription-support.ts'
import { streamedTask, wholeTask } from './media/transcriptions.ts'
import { handleMedia } from './serve-media.ts'

export interface IncomingTranscription
  extends Pick<IncomingMedia<TranscriptionCall>, 'caller' | 'region' | 'httpRequest'> {
  task: TranscriptionCall['task']
  /** Fields that the schema of the operation has validated. */
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
    return handleMedia(gateway, request, streamedTask, (_, admitted) =>
      streamMedia(gateway, admitted, streamedTask),
    )
  }
  return handleMedia(gateway, request, wholeTask, (_, admitted) =>
    replyWithMedia(gateway, admitted, wholeTask, (reply, context, call) =>
      encodeTranscript(call, reply, context),
    ),
  )
}
