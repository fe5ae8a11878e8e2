export const byokPrefix = 'own '

/** Health is recorded per endpoint and credential: an endpoint may work with one key and fail with another. */
export function healthIdOf(endpointId: string, byokKeyId: string | null): string {
  return byokKeyId === null ? endpointId : `${byokPrefix}${byokKeyId} ${endpointId}`
}

/** Reverses `healthIdOf`. */
export function parseHealthId(id: string): { endpointId: string; byokKeyId: string | null } {
  if (!id.startsWith(byokPrefix)) return { endpointId: id, byokKeyId: null }
  const [, byokKeyId = '', ...rest] = id.split(' ')
  return { endpointId: rest.join(' '), byokKeyId }
}
