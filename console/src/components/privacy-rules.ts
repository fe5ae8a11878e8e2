export const trainingSwitches = [
  ['enable_free_model_training', 'No free endpoints that may train on prompts'],
  ['enable_paid_model_training', 'No paid endpoints that may train on prompts'],
  ['enable_free_model_publication', 'No free endpoints that may publish prompts'],
] as const

export const retentionSwitches = [
  ['enforce_zdr_vendor_a', 'Anthropic models'],
  ['enforce_zdr_vendor_b', 'OpenAI models'],
  ['enforce_zdr_vendor_c', 'Google models'],
  ['enforce_zdr_vendor_d', 'xAI models'],
  ['enforce_zdr_other', 'All other models'],
] as const

export type TrainingRule = (typeof trainingSwitches)[number][0]
export type RetentionRule = (typeof retentionSwitches)[number][0]
export type PrivacyRule = TrainingRule | RetentionRule

/** The fields of the API: only `false` restricts training, only `true` retention. */
export type PrivacyFields = Record<PrivacyRule, boolean | null>

/** Whether each rule restricts. */
export function restrictionsOf(fields: PrivacyFields): Record<PrivacyRule, boolean> {
  const training = trainingSwitches.map(([name]) => [name, fields[name] === false])
  const retention = retentionSwitches.map(([name]) => [name, fields[name] === true])
  return Object.fromEntries([...training, ...retention])
}

/** The value of a field that restricts, or that leaves it to other guardrails. */
export function toPrivacyField(rule: PrivacyRule, restricts: boolean): boolean | null {
  return restricts ? retentionSwitches.some(([name]) => name === rule) : null
}
