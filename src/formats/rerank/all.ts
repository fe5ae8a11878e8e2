import type { TaskDialect } from '../vocabulary.ts'
import { cohereRerank } from './cohere.ts'
import type { RerankDialect } from './dialect.ts'
import { voyageRerank } from './voyage.ts'

/** Every wire format for reranking. */
export const rerankDialects: Record<TaskDialect<'rerank'>, RerankDialect> = {
  rerank: cohereRerank,
  'voyage-rerank': voyageRerank,
}
