import { z } from 'zod'
import { indexNames } from '../result.ts'
import type { PublishedScore } from './entry.ts'

const index = z.number().min(0).max(1000).nullish()

/** A model in a reply of the API of Artificial Analysis. Other fields are not read. */
const model = z.looseObject({
  name: z.string().min(1),
  slug: z.string().nullish(),
  model_creator: z
    .union([z.string(), z.looseObject({ slug: z.string().nullish(), name: z.string().nullish() })])
    .nullish(),
  evaluations: z
    .looseObject({
      artificial_analysis_intelligence_index: index,
      artificial_analysis_coding_index: index,
      artificial_analysis_agentic_index: index,
    })
    .nullish(),
})

export const artificialAnalysisFile = z.object({ data: z.array(model.nullable()) })

export function readArtificialAnalysis({ data }: z.output<typeof artificialAnalysisFile>): PublishedScore[] {
  return data.flatMap((entry) => (entry ? readModel(entry) : []))
}

function readModel({
  name,
  slug,
  model_creator: creator,
  evaluations,
}: z.output<typeof model>): PublishedScore[] {
  const author = typeof creator === 'string' ? creator : (creator?.slug ?? creator?.name ?? null)
  return indexNames.flatMap((benchmark) => {
    const score = evaluations?.[`artificial_analysis_${benchmark}_index`]
    if (score == null) return []
    return {
      source: 'artificial-analysis',
      benchmark,
      variant: '',
      score,
      details: {},
      model: { displayName: name, names: slug ? [slug] : [], author },
      measuredAt: null,
    }
  })
}
