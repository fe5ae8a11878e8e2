import { chat } from '../../formats/chat/chat.ts'
import { cohereChat } from '../../formats/cohere/cohere.ts'
import { completions } from '../../formats/completions/completions.ts'
import { gemini } from '../../formats/gemini/gemini.ts'
import { messages } from '../../formats/messages/messages.ts'
import { ollamaChat, ollamaGenerate } from '../../formats/ollama/ollama.ts'
import { responses } from '../../formats/responses/responses.ts'
import type { ClientFormat } from './client-format.ts'
import { presetTargets } from './preset.ts'

/** The formats clients may use. */
export const formats = {
  chat: {
    name: 'chat',
    task: 'text',
    presetTarget: presetTargets.chat,
    requestCodec: chat.client,
    replyCodec: chat.client,
    wireFormat: chat,
  },
  /** A format of clients only, not of upstreams: the prompt becomes a message. */
  completions: {
    name: 'completions',
    task: 'text',
    presetTarget: presetTargets.completions,
    requestCodec: completions,
    replyCodec: completions,
    wireFormat: null,
  },
  messages: {
    name: 'messages',
    task: 'text',
    presetTarget: presetTargets.messages,
    requestCodec: messages.client,
    replyCodec: messages.client,
    wireFormat: messages,
  },
  responses: {
    name: 'responses',
    task: 'text',
    presetTarget: presetTargets.responses,
    requestCodec: responses.client,
    replyCodec: responses.client,
    wireFormat: responses,
  },
  gemini: {
    name: 'gemini',
    task: 'text',
    presetTarget: presetTargets.gemini,
    requestCodec: gemini.client,
    replyCodec: gemini.client,
    wireFormat: gemini,
  },
  ollamaChat: {
    name: 'ollama-chat',
    task: 'text',
    presetTarget: presetTargets.ollamaChat,
    requestCodec: ollamaChat,
    replyCodec: ollamaChat,
    wireFormat: null,
  },
  ollamaGenerate: {
    name: 'ollama-generate',
    task: 'text',
    presetTarget: presetTargets.ollamaGenerate,
    requestCodec: ollamaGenerate,
    replyCodec: ollamaGenerate,
    wireFormat: null,
  },
  cohereChat: {
    name: 'cohere-chat',
    task: 'text',
    presetTarget: presetTargets.cohereChat,
    requestCodec: cohereChat,
    replyCodec: cohereChat,
    wireFormat: null,
  },
  /** Some editors send a Responses body to the chat operation and expect chat chunks. */
  responsesAsChat: {
    name: 'chat',
    task: 'text',
    presetTarget: presetTargets.responses,
    requestCodec: responses.client,
    replyCodec: chat.client,
    wireFormat: null,
  },
} as const satisfies Record<string, ClientFormat>
