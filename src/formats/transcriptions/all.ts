import type { TaskWireFormat } from '../vocabulary.ts'
import { deepgramTranscriptions } from './deepgram.ts'
import { elevenlabsTranscriptions } from './elevenlabs.ts'
import { mistralTranscriptions } from './mistral.ts'
import { openaiTranscriptions } from './openai.ts'
import type { TranscriptionWireFormat } from './wire-format.ts'
import { xaiTranscriptions } from './xai.ts'

/** The wire formats for speech to text. */
export const transcriptionWireFormats: Readonly<
  Record<TaskWireFormat<'transcriptions'>, TranscriptionWireFormat>
> = {
  transcriptions: openaiTranscriptions,
  'mistral-transcriptions': mistralTranscriptions,
  'elevenlabs-transcriptions': elevenlabsTranscriptions,
  'deepgram-transcriptions': deepgramTranscriptions,
  'xai-transcriptions': xaiTranscriptions,
}
