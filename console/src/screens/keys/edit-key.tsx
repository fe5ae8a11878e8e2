import { Button, Group, Modal, Stack, TextInput } from '@mantine/core'
import { useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { api } from '../../api/client.ts'
import { ErrorNotice } from '../../components/error-notice.tsx'
import type { ApiKey } from './key-fields.ts'
import { type Limit, LimitFields } from './limit-fields.tsx'

export function EditKey({ apiKey, onClose }: { apiKey: ApiKey; onClose: () => void }) {
  const queryClient = useQueryClient()
  const [name, setName] = useState(apiKey.name)
  const [limit, setLimit] = useState<Limit>(apiKey)
  const update = api.useMutation('patch', '/keys/{hash}', {
    onSuccess: async () => {
      await queryClient.invalidateQueries({ queryKey: ['get', '/keys'] })
      await queryClient.invalidateQueries({ queryKey: ['get', '/keys/{hash}'] })
      onClose()
    },
  })
  const save = () =>
    update.mutate({
      params: { path: { hash: apiKey.hash } },
      body: {
        name,
        limit: limit.limit,
        limit_reset: limit.limit === null ? null : limit.limit_reset,
        include_byok_in_limit: limit.include_byok_in_limit,
      },
    })
  return (
    <Modal
      opened
      onClose={onClose}
      title={`Edit ${apiKey.name}`}
      closeButtonProps={{ 'aria-label': 'Close' }}
    >
      <form
        onSubmit={(event) => {
          event.preventDefault()
          save()
        }}
      >
        <Stack>
          <TextInput
            label="Name"
            value={name}
            maxLength={200}
            required
            data-autofocus
            onChange={(event) => setName(event.currentTarget.value)}
          />
          <LimitFields value={limit} onChange={(changes) => setLimit({ ...limit, ...changes })} />
          {update.error !== null && <ErrorNotice error={update.error} />}
          <Group justify="flex-end">
            <Button variant="default" onClick={onClose}>
              Cancel
            </Button>
            <Button type="submit" loading={update.isPending} disabled={name.trim() === ''}>
              Save
            </Button>
          </Group>
        </Stack>
      </form>
    </Modal>
  )
}
