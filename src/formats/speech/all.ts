import type { TaskDialect } from '../vocabulary.ts'
import { deepgramSpeech } from './deepgram.ts'
import type { SpeechDialect } from './dialect.ts'
import { elevenLabsSpeech } from './elevenlabs.ts'
import { geminiSpeech } from './gemini.ts'
import { speech } from './openai.ts'

export const speechDialects: Readonly<Record<TaskDialect<'speech'>, SpeechDialect>> = {
  speech,
  'gemini-speech': geminiSpeech,
  'elevenlabs-speech': elevenLabsSpeech,
  'deepgram-speech': deepgramSpeech,
}
