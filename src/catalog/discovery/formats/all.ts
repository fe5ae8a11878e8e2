import type { ModelListFormat } from '../model-list-format.ts'
import { anthropicList } from './anthropic.ts'
import { bedrockList } from './bedrock.ts'
import { geminiList } from './gemini.ts'
import { lmStudioList } from './lm-studio.ts'
import { ollamaList } from './ollama.ts'
import { openaiList } from './openai.ts'
import { vertexList } from './vertex.ts'

/** How providers list their models: a file here, and a line in this list. */
export const modelListFormats = {
  openai: openaiList,
  anthropic: anthropicList,
  gemini: geminiList,
  ollama: ollamaList,
  'lm-studio': lmStudioList,
  bedrock: bedrockList,
  vertex: vertexList,
} satisfies Record<string, ModelListFormat>

export type ModelListName = keyof typeof modelListFormats

/** `none`: the list is not read. */
export const modelListNames = [
  'none',
  ...(Object.keys(modelListFormats) as ModelListName[]),
] as const satisfies readonly (ModelListName | 'none')[]
