import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { api } from '../../api/client.ts'
import { RemoteSelect } from '../../components/remote-select.tsx'
import { nounOf } from './vocabulary.ts'

/** Kinds whose id is that of their entries. */
const kinds = ['key', 'member', 'workspace', 'guardrail']

interface ObjectSelectProps {
  /** An id. */
  value: string | null
  onChange: (id: string | undefined) => void
}

/** Chooses the object of entries by its name. */
export function ObjectSelect({ value, onChange }: ObjectSelectProps) {
  const [text, setText] = useState('')
  const wanted = text || value
  const { data } = useQuery({
    ...api.queryOptions('get', '/search', { params: { query: { q: wanted ?? '', limit: 20 } } }),
    enabled: wanted !== null && wanted !== '',
    placeholderData: keepPreviousData,
  })
  const choices = (data?.data ?? [])
    .filter(({ kind }) => kinds.includes(kind))
    .map(({ id, name, kind }) => ({ value: id, label: `${name} (${nounOf(kind)})` }))
  return (
    <div style={{ flex: '1 1 200px', maxWidth: 320 }}>
      <RemoteSelect
        label="Object"
        placeholder="Any"
        clearable
        value={value}
        valueLabel={value ?? ''}
        nothingFound={text === '' ? 'Type a name' : 'Nothing found'}
        choices={choices}
        onSearch={setText}
        onChange={(id) => onChange(id ?? undefined)}
      />
    </div>
  )
}
