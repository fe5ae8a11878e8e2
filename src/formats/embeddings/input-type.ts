/** Purposes of embeddings, by the input types of all vendors. */
const purposes: Readonly<Record<string, Purpose>> = {
  search_query: 'query',
  query: 'query',
  retrieval_query: 'query',
  search_document: 'document',
  document: 'document',
  passage: 'document',
  retrieval_document: 'document',
  classification: 'classification',
  clustering: 'clustering',
}

export type Purpose = 'query' | 'document' | 'classification' | 'clustering'

/** The vendor's name of an input type. One without such a name is sent as it is, for the vendor to judge. */
export function translateInputType(
  inputType: string | undefined,
  names: Readonly<Partial<Record<Purpose, string>>>,
): string | undefined {
  if (inputType === undefined) return undefined
  const purpose = purposes[inputType.toLowerCase()]
  return (purpose && names[purpose]) ?? inputType
}
