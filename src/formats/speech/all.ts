import type { TaskWireFormat } from '../vocabulary.ts'
import { deepgramSpeech } from './deepgram.ts'
import { elevenLabsSpeech } from './elevenlabs.ts'
import { geminiSpeech } from './gemini.ts'
import { minimaxSpeech } from './minimax.ts'
import { mistralSpeech } from './mistral.ts'
import { speech } from './openai.ts'
import type { SpeechWireFormat } from './wire-format.ts'

export const speechWireFormats: Readonly<Record<TaskWireFormat<'speech'>, SpeechWireFormat>> = {
  speech,
  'gemini-speech': geminiSpeech,
  'elevenlabs-speech': elevenLabsSpeech,
  'deepgram-speech': deepgramSpeech,
  'minimax-speech': minimaxSpeech,
  'mistral-speech': mistralSpeech,
}
