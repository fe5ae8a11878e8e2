import type { TaskDialect } from '../vocabulary.ts'
import { deepgramTranscriptions } from './deepgram.ts'
import type { TranscriptionDialect } from './dialect.ts'
import { elevenlabsTranscriptions } from './elevenlabs.ts'
import { mistralTranscriptions } from './mistral.ts'
import { openaiTranscriptions } from './openai.ts'

/** The wire formats for speech to text. */
export const transcriptionDialects: Readonly<Record<TaskDialect<'transcriptions'>, TranscriptionDialect>> = {
  transcriptions: openaiTranscriptions,
  'mistral-transcriptions': mistralTranscriptions,
  'elevenlabs-transcriptions': elevenlabsTranscriptions,
  'deepgram-transcriptions': deepgramTranscriptions,
}
