import type { SelectProps } from '@mantine/core'
import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { api } from '../api/client.ts'
import { mayDo, useSession } from '../app/session.tsx'
import type { NamedWorkspace } from '../app/workspace.tsx'
import { RemoteSelect } from './remote-select.tsx'
import { useWorkspaces } from './use-workspaces.ts'

export const nothingFound = 'No workspace found'

/** Finds workspaces with this text in their name or slug. */
export function useFoundWorkspaces(text: string): NamedWorkspace[] {
  const session = useSession()
  const isAllowed = mayDo(session, 'workspaces:read')
  const options = api.queryOptions('get', '/workspaces', {
    params: { query: { limit: 100, ...(text !== '' && { q: text }) } },
  })
  const { data } = useQuery({ ...options, enabled: isAllowed, placeholderData: keepPreviousData })
  if (isAllowed) return data?.data ?? []
  return session.workspaces.filter((workspace) =>
    labelOf(workspace).toLowerCase().includes(text.toLowerCase()),
  )
}

export function toChoice(workspace: NamedWorkspace) {
  return { value: workspace.id, label: labelOf(workspace) }
}

/** The name, with the slug unless it is the same. */
function labelOf({ name, slug }: NamedWorkspace): string {
  return name.toLowerCase().replaceAll(' ', '-') === slug ? name : `${name} (${slug})`
}

interface WorkspaceSelectProps
  extends Pick<
    SelectProps,
    'description' | 'placeholder' | 'size' | 'labelProps' | 'leftSection' | 'allowDeselect' | 'comboboxProps'
  > {
  label: string
  value: string | null
  onChange: (id: string | null, workspace: NamedWorkspace | null) => void
}

/** Chooses a workspace, or none unless `allowDeselect` is false. */
export function WorkspaceSelect({ value, onChange, ...props }: WorkspaceSelectProps) {
  const [text, setText] = useState('')
  const found = useFoundWorkspaces(text)
  const { workspaces, isPending } = useWorkspaces(value === null ? [] : [value])
  const chosen = value === null ? undefined : workspaces.get(value)
  return (
    <RemoteSelect
      {...props}
      clearable={props.allowDeselect !== false}
      value={value}
      valueLabel={chosen ? labelOf(chosen) : isPending ? '…' : (value ?? '')}
      onChange={(id) => onChange(id, found.find((workspace) => workspace.id === id) ?? null)}
      nothingFound={nothingFound}
      choices={found.map(toChoice)}
      onSearch={setText}
    />
  )
}
