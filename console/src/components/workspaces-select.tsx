import { useState } from 'react'
import { RemoteMultiSelect } from './remote-multi-select.tsx'
import { nothingFound, toChoice, useFoundWorkspaces } from './workspace-select.tsx'

interface WorkspacesSelectProps {
  label: string
  description?: string
  value: string[]
  onChange: (ids: string[]) => void
}

/** Chooses several workspaces. */
export function WorkspacesSelect(props: WorkspacesSelectProps) {
  const [text, setText] = useState('')
  const choices = useFoundWorkspaces(text).map(toChoice)
  return <RemoteMultiSelect {...props} nothingFound={nothingFound} choices={choices} onSearch={setText} />
}
