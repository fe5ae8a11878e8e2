/** The purposes of uploads. */
export const uploadPurposes = ['user_data', 'vision', 'assistants', 'batch', 'fine-tune', 'evals'] as const
export const purposes = [...uploadPurposes, 'assistants_output', 'batch_output', 'fine-tune-results'] as const

export type Purpose = (typeof purposes)[number]

export function isPurpose(value: unknown): value is Purpose {
  return purposes.some((purpose) => purpose === value)
}
