import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { api } from '../api/client.ts'
import { mayDo, useSession } from '../app/session.tsx'
import { RemoteMultiSelect } from './remote-multi-select.tsx'
import { type Choice, RemoteSelect } from './remote-select.tsx'

/** The keys of a workspace that have this text. */
function useKeyChoices(workspaceId: string | null, text: string): Choice[] {
  const options = api.queryOptions('get', '/keys', {
    params: {
      query: { ...(workspaceId !== null && { workspace_id: workspaceId }), ...(text !== '' && { q: text }) },
    },
  })
  const isAllowed = mayDo(useSession(), 'keys:read')
  const { data } = useQuery({ ...options, enabled: isAllowed, placeholderData: keepPreviousData })
  return (data?.data ?? []).map(({ hash, name, label }) => ({ value: hash, label: `${name} (${label})` }))
}

interface CommonProps {
  label: string
  description?: string
  workspaceId: string | null
}

interface KeySelectProps extends CommonProps {
  value: string | null
  placeholder?: string
  clearable?: boolean
  onChange: (hash: string | null) => void
}

/** Chooses an API key of a workspace. */
export function KeySelect({ workspaceId, ...props }: KeySelectProps) {
  const [text, setText] = useState('')
  const choices = useKeyChoices(workspaceId, text)
  return (
    <RemoteSelect
      {...props}
      valueLabel={props.value ?? ''}
      nothingFound="No key found"
      choices={choices}
      onSearch={setText}
    />
  )
}

interface KeysSelectProps extends CommonProps {
  value: string[]
  disabled?: boolean
  onChange: (hashes: string[]) => void
}

/** Chooses several. */
export function KeysSelect({ workspaceId, ...props }: KeysSelectProps) {
  const [text, setText] = useState('')
  const choices = useKeyChoices(workspaceId, text)
  return <RemoteMultiSelect {...props} nothingFound="No key found" choices={choices} onSearch={setText} />
}
