import { Textarea } from '@mantine/core'
import { useState } from 'react'
import { client } from '../../api/client.ts'
import { useRefresh } from '../../api/use-refresh.ts'
import { FormDialog } from '../../components/form-dialog.tsx'
import { NameField, TextField } from '../../components/text-field.tsx'
import { suggestSlug } from './slug.ts'

export function CreateWorkspace({ onClose }: { onClose: () => void }) {
  const refresh = useRefresh()
  const [name, setName] = useState('')
  const [typedSlug, setTypedSlug] = useState<string | null>(null)
  const [description, setDescription] = useState('')
  const slug = typedSlug ?? suggestSlug(name)
  const create = async () => {
    const body = { name: name.trim(), slug, description: description.trim() || null }
    await client.POST('/workspaces', { body })
    await refresh('/workspaces', '/session')
  }
  return (
    <FormDialog
      title="Create a workspace"
      action="Create"
      isReady={name.trim() !== '' && slug !== ''}
      onSubmit={create}
      onClose={onClose}
    >
      <NameField value={name} onChange={setName} />
      <TextField
        label="Short name"
        description="Replaces the ID in API calls. Lowercase letters, digits and hyphens."
        required
        maxLength={50}
        value={slug}
        onChange={setTypedSlug}
      />
      <Textarea
        label="Description"
        maxLength={500}
        autosize
        value={description}
        onChange={(event) => setDescription(event.currentTarget.value)}
      />
    </FormDialog>
  )
}
