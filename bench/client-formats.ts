// Requests of each client format, with the same conversation and the same settings.
export const clientFormatNames = ['chat', 'completions', 'messages', 'responses', 'gemini', 'ollama'] as const
export type ClientFormatName = (typeof clientFormatNames)[number]

export interface Turn {
  role: 'system' | 'user' | 'assistant'
  content: string
}

interface ClientFormat {
  path: (model: string, streamed: boolean) => string
  buildBody: (model: string, turns: Turn[], streamed: boolean) => object
}

const temperature = 0.7
const maxTokens = 1000

export const clientFormats: Record<ClientFormatName, ClientFormat> = {
  chat: {
    path: () => '/v1/chat/completions',
    buildBody: (model, messages, streamed) => ({
      model,
      messages,
      temperature,
      max_tokens: maxTokens,
      ...(streamed && { stream: true, stream_options: { include_usage: true } }),
    }),
  },
  completions: {
    path: () => '/v1/completions',
    buildBody: (model, turns, streamed) => ({
      model,
      prompt: turns.map(({ content }) => content).join('\n'),
      temperature,
      max_tokens: maxTokens,
      ...(streamed && { stream: true, stream_options: { include_usage: true } }),
    }),
  },
  messages: {
    path: () => '/v1/messages',
    buildBody: (model, turns, stream) => ({
      model,
      system: systemTextOf(turns),
      messages: turns.filter(({ role }) => role !== 'system'),
      temperature,
      max_tokens: maxTokens,
      stream,
    }),
  },
  responses: {
    path: () => '/v1/responses',
    buildBody: (model, turns, stream) => ({
      model,
      instructions: systemTextOf(turns),
      input: turns.filter(({ role }) => role !== 'system'),
      temperature,
      max_output_tokens: maxTokens,
      stream,
      store: false,
    }),
  },
  gemini: {
    path: (model, streamed) =>
      `/v1beta/models/${model}:${streamed ? 'streamGenerateContent?alt=sse' : 'generateContent'}`,
    buildBody: (_, turns) => ({
      systemInstruction: { parts: [{ text: systemTextOf(turns) }] },
      contents: turns
        .filter(({ role }) => role !== 'system')
        .map(({ role, content }) => ({
          role: role === 'assistant' ? 'model' : 'user',
          parts: [{ text: content }],
        })),
      generationConfig: { temperature, maxOutputTokens: maxTokens },
    }),
  },
  ollama: {
    path: () => '/api/chat',
    buildBody: (model, messages, stream) => ({
      model,
      messages,
      options: { temperature, num_predict: maxTokens },
      stream,
    }),
  },
}

function systemTextOf(turns: Turn[]): string {
  return turns
    .filter(({ role }) => role === 'system')
    .map(({ content }) => content)
    .join('\n')
}
