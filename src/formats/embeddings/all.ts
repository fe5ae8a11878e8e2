import type { TaskDialect } from '../vocabulary.ts'
import { cohereEmbeddings } from './cohere.ts'
import type { EmbeddingsDialect } from './dialect.ts'
import { geminiEmbeddings } from './gemini.ts'
import { openaiEmbeddings } from './openai.ts'
import { voyageEmbeddings } from './voyage.ts'

/** Every wire format for embeddings. */
export const embeddingsDialects: Record<TaskDialect<'embeddings'>, EmbeddingsDialect> = {
  embeddings: openaiEmbeddings,
  'gemini-embeddings': geminiEmbeddings,
  'cohere-embeddings': cohereEmbeddings,
  'voyage-embeddings': voyageEmbeddings,
}
