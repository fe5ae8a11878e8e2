import { chat } from '../dialects/chat/chat.ts'
import { completions } from '../dialects/completions/completions.ts'
import { gemini } from '../dialects/gemini/gemini.ts'
import { messages } from '../dialects/messages/messages.ts'
import { ollamaChat, ollamaGenerate } from '../dialects/ollama/ollama.ts'
import { responses } from '../dialects/responses/responses.ts'
import type { Format } from './asked.ts'
import { presetTargets } from './preset.ts'

/** The formats clients may use. */
export const formats = {
  chat: {
    name: 'chat',
    presets: presetTargets.chat,
    reads: chat.client,
    writes: chat.client,
    dialect: chat,
  },
  /** No upstream is asked in this format any more: the prompt becomes a message. */
  completions: {
    name: 'completions',
    presets: presetTargets.completions,
    reads: completions,
    writes: completions,
    dialect: null,
  },
  messages: {
    name: 'messages',
    presets: presetTargets.messages,
    reads: messages.client,
    writes: messages.client,
    dialect: messages,
  },
  responses: {
    name: 'responses',
    presets: presetTargets.responses,
    reads: responses.client,
    writes: responses.client,
    dialect: responses,
  },
  gemini: {
    name: 'gemini',
    presets: presetTargets.gemini,
    reads: gemini.client,
    writes: gemini.client,
    dialect: gemini,
  },
  ollamaChat: {
    name: 'ollama-chat',
    presets: presetTargets.ollamaChat,
    reads: ollamaChat,
    writes: ollamaChat,
    dialect: null,
  },
  ollamaGenerate: {
    name: 'ollama-generate',
    presets: presetTargets.ollamaGenerate,
    reads: ollamaGenerate,
    writes: ollamaGenerate,
    dialect: null,
  },
  /** Some editors send a Responses body to the chat operation and want chat chunks back. */
  responsesAsChat: {
    name: 'chat',
    presets: presetTargets.responses,
    reads: responses.client,
    writes: chat.client,
    dialect: null,
  },
} as const satisfies Record<string, Format>
