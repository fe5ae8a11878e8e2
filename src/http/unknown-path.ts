import { chat } from '../formats/chat/chat.ts'
import { cohereChat } from '../formats/cohere/cohere.ts'
import { gemini } from '../formats/gemini/gemini.ts'
import { ollamaChat } from '../formats/ollama/ollama.ts'
import type { ClientCodec } from '../formats/wire-format.ts'
import { type GatewayError, gatewayError } from '../platform/errors/gateway-error.ts'
import type { FailingOperation } from './error-response.ts'

/** An API of which only a part is offered. */
interface PartialApi {
  paths: RegExp
  codec: ClientCodec
  /** A sentence: what is offered instead. */
  alternative: string
}

/** Paths of the OpenAI API, under each base path. */
function openAiPaths(...names: string[]): RegExp {
  return new RegExp(`^(?:/(?:api|openai|anthropic|v1))+/(?:${names.join('|')})(?:/|$)`)
}

const partialApis: readonly PartialApi[] = [
  {
    paths: /^\/(?:api|openai|anthropic|v1)\/(?:.+\/)?images\/variations\/?$/,
    codec: chat.client,
    alternative: 'Use POST /images/edits with the image and a prompt, or POST /images/generations.',
  },
  {
    paths: openAiPaths('assistants', 'threads', 'realtime'),
    codec: chat.client,
    alternative: 'Use POST /responses, which can continue a conversation and use tools.',
  },
  {
    paths: openAiPaths('uploads'),
    codec: chat.client,
    alternative: 'Use POST /files, which takes a whole file.',
  },
  {
    paths: openAiPaths('vector_stores'),
    codec: chat.client,
    alternative: 'Use POST /embeddings and POST /rerank with a vector store of your own.',
  },
  {
    paths: openAiPaths('fine_tuning', 'evals'),
    codec: chat.client,
    alternative: 'Use the API of the provider; models that it has trained are declared in headgate.yaml.',
  },
  {
    paths:
      /^\/api\/(?:pull|push|create|copy|delete|ps|me|signout|experimental|blobs|web_search|web_fetch)(?:\/|$)/,
    codec: ollamaChat,
    alternative:
      'Offered of this API are /api/chat, /api/generate, /api/embed, /api/embeddings, /api/tags, /api/show and /api/version; models are declared in headgate.yaml.',
  },
  {
    paths:
      /^(?:\/v2\/|\/v1\/(?:chat|generate|embed|classify|summarize|tokenize|detokenize|embed-jobs|connectors|check-api-key|finetuning)(?:\/|$))/,
    codec: cohereChat,
    alternative: 'Offered of this API are /v2/chat, /v2/embed and /v2/rerank.',
  },
  {
    paths: /^\/(?:v1beta|v1alpha|v1beta1)\/|^\/v1\/(?:projects|publishers)\//,
    codec: gemini.client,
    alternative:
      'Offered of this API are /v1beta/models, /v1beta/models/{model}:{method}, such as generateContent, and /v1beta/files, each also under the other API versions.',
  },
]

const maxShownPath = 200

/** The error for a path without an operation, and the format it is encoded in. */
export function describeUnknownPath(
  method: string,
  path: string,
): { error: GatewayError; operation: FailingOperation | undefined } {
  const shown = `${method} ${path.slice(0, maxShownPath)}`
  const api = partialApis.find(({ paths }) => paths.test(path))
  if (!api) {
    const message = `${shown} does not exist. The API is served under /api/v1 and /v1.`
    return { error: gatewayError('route_unknown', message), operation: undefined }
  }
  const { encodeError } = api.codec
  const message = `${shown} is not offered. ${api.alternative}`
  return { error: gatewayError('not_offered', message), operation: { encodeError } }
}
