import { useQuery } from '@tanstack/react-query'
import { useMemo } from 'react'
import { ApiError } from '../../api/error.ts'
import { type ApiDocument, listOperations, type Operation } from './document.ts'

export function openApiUrl(): string {
  return new URL('openapi.json', document.baseURI).href
}

async function loadDocument(): Promise<ApiDocument> {
  const response = await fetch(openApiUrl(), { credentials: 'omit' })
  if (!response.ok) throw await ApiError.from(response)
  return response.json()
}

const none: Operation[] = []

/** The description of the API, and its operations once it is loaded. */
export function useDocument() {
  const query = useQuery({
    queryKey: ['openapi.json'],
    queryFn: loadDocument,
    staleTime: Number.POSITIVE_INFINITY,
  })
  const { data } = query
  const operations = useMemo(() => (data ? listOperations(data) : none), [data])
  return { query, operations }
}
