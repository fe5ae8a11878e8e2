import { TagsInput } from '@mantine/core'
import { useDebouncedValue } from '@mantine/hooks'
import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { api } from '../api/client.ts'
import { mayDo, useSession } from '../app/session.tsx'
import { modelsOf } from './model-picker.tsx'

interface NamesInputProps {
  label?: string
  description?: string
  /** Shown while nothing is chosen. */
  placeholder?: string
  value: string[]
  onChange: (names: string[]) => void
}

/** Chooses models from the catalog, or names typed by hand such as `openai/*`. */
export function ModelsInput({ label = 'Models', placeholder = '', ...props }: NamesInputProps) {
  const isAllowed = mayDo(useSession(), 'models:read')
  const [typed, setTyped] = useState('')
  const [search] = useDebouncedValue(typed, 200)
  const options = api.queryOptions('get', '/models', {
    params: { query: { limit: 30, ...(search && { q: search }) } },
  })
  const { data } = useQuery({ ...options, enabled: isAllowed, placeholderData: keepPreviousData })
  return (
    <TagsInput
      {...props}
      label={label}
      placeholder={props.value.length === 0 ? placeholder : ''}
      acceptValueOnBlur
      maxTags={100}
      data={isListed(typed, props.value) ? modelsOf(data).map(({ id }) => id) : []}
      onSearchChange={setTyped}
    />
  )
}

/** Chooses providers by their slug. */
export function ProvidersInput({ label = 'Providers', placeholder = '', ...props }: NamesInputProps) {
  const isAllowed = mayDo(useSession(), 'models:read')
  const [typed, setTyped] = useState('')
  const { data } = useQuery({ ...api.queryOptions('get', '/providers'), enabled: isAllowed })
  return (
    <TagsInput
      {...props}
      label={label}
      placeholder={props.value.length === 0 ? placeholder : ''}
      acceptValueOnBlur
      maxTags={100}
      limit={30}
      data={isListed(typed, props.value) ? (data?.data ?? []).map(({ slug }) => slug) : []}
      onSearchChange={setTyped}
    />
  )
}

/** Once something is chosen, the list waits for text: open, it would cover the fields below. */
function isListed(typed: string, value: string[]): boolean {
  return typed !== '' || value.length === 0
}
