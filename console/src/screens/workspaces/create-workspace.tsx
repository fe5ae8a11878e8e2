import { Textarea, TextInput } from '@mantine/core'
import { useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { client } from '../../api/client.ts'
import { FormDialog } from '../../components/form-dialog.tsx'
import { suggestSlug } from './slug.ts'

export function CreateWorkspace({ onClose }: { onClose: () => void }) {
  const queryClient = useQueryClient()
  const [name, setName] = useState('')
  const [typedSlug, setTypedSlug] = useState<string | null>(null)
  const [description, setDescription] = useState('')
  const slug = typedSlug ?? suggestSlug(name)
  const create = async () => {
    const body = { name: name.trim(), slug, description: description.trim() || null }
    await client.POST('/workspaces', { body })
    await Promise.all(
      ['/workspaces', '/session'].map((path) => queryClient.invalidateQueries({ queryKey: ['get', path] })),
    )
  }
  return (
    <FormDialog
      title="Create a workspace"
      action="Create"
      isReady={name.trim() !== '' && slug !== ''}
      onSubmit={create}
      onClose={onClose}
    >
      <TextInput
        label="Name"
        required
        data-autofocus
        maxLength={100}
        value={name}
        onChange={(event) => setName(event.currentTarget.value)}
      />
      <TextInput
        label="Short name"
        description="For calls of the API, in place of the id: small letters, digits and hyphens."
        required
        maxLength={50}
        value={slug}
        onChange={(event) => setTypedSlug(event.currentTarget.value)}
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
