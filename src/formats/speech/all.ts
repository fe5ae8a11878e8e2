import type { TaskWireFormat } from '../vocabulary.ts'
import { deepgramSpeech } from './deepgram.ts'
import { elevenLabsSpeech } from './elevenlabs.ts'
import { geminiSpeech } from './gemini.ts'
import { speech } from './openai.ts'
import type { SpeechWireFormat } from './wire-format.ts'

export const speechWireFormats: Readonly<Record<TaskWireFormat<'speech'>, SpeechWireFormat>> = {
  speech,
  'gemini-speech': geminiSpeech,
  'elevenlabs-speech': elevenLabsSpeech,
  'deepgram-speech': deepgramSpeech,
}
