import Anthropic from '@anthropic-ai/sdk'
import { GoogleGenAI, type HttpOptions } from '@google/genai'
import { OpenRouter } from '@openrouter/sdk'
import OpenAI from 'openai'
import type { Lab } from './lab.ts'

export interface ClientOptions {
  key?: string
  maxRetries?: number
}

export function openaiClient(lab: Lab, { key = lab.key, maxRetries = 0 }: ClientOptions = {}): OpenAI {
  return new OpenAI({ baseURL: `${lab.url}/v1`, apiKey: key, maxRetries })
}

export interface AnthropicOptions extends ClientOptions {
  /** The path after the host. */
  base?: string
  /** The key in `Authorization` instead of `x-api-key`. */
  bearer?: boolean
  headers?: Record<string, string>
}

export function anthropicClient(lab: Lab, options: AnthropicOptions = {}): Anthropic {
  const { key = lab.key, maxRetries = 0, base = '', bearer = false, headers = {} } = options
  return new Anthropic({
    baseURL: lab.url + base,
    ...(bearer ? { apiKey: null, authToken: key } : { apiKey: key, authToken: null }),
    maxRetries,
    defaultHeaders: headers,
  })
}

export function googleClient(lab: Lab, httpOptions: HttpOptions = {}, apiKey = lab.key): GoogleGenAI {
  return new GoogleGenAI({ apiKey, httpOptions: { baseUrl: lab.url, ...httpOptions } })
}

/** The same SDK with the paths of Vertex AI. */
export function vertexClient(lab: Lab, apiVersion?: string): GoogleGenAI {
  const httpOptions = { baseUrl: lab.url, ...(apiVersion && { apiVersion }) }
  return new GoogleGenAI({ vertexai: true, apiKey: lab.key, httpOptions })
}

/** Creates a client of an SDK that validates every response against its schema. */
export function openRouterClient(lab: Lab, apiKey = lab.key): OpenRouter {
  return new OpenRouter({ apiKey, serverURL: `${lab.url}/api/v1`, retryConfig: { strategy: 'none' } })
}
