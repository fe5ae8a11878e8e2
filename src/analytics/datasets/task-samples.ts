import type { Statement } from '../../platform/db/batch.ts'
import type { Db } from '../../platform/db/db.ts'
import type { GenerationTaskTable } from '../../platform/db/schema.ts'

/** Stores the task of a generation, in the transaction that charges for it. Repeating it changes nothing. */
export function buildTaskStatement(
  db: Db,
  generationId: string,
  { tag, category, language }: Pick<GenerationTaskTable, 'tag' | 'category' | 'language'>,
  weight: number,
): Statement {
  const { sql, parameters } = db
    .insertInto('generation_tasks')
    .values({ generation_id: generationId, tag, category, language, weight })
    .onConflict((conflict) => conflict.column('generation_id').doNothing())
    .compile()
  return { sql, values: parameters }
}
