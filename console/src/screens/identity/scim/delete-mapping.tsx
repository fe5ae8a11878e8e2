import { Radio, Stack } from '@mantine/core'
import { useState } from 'react'
import { client } from '../../../api/client.ts'
import { ConfirmByName } from '../../../components/confirm-by-name.tsx'
import { useScimRefresh } from './queries.ts'

interface DeleteMappingProps {
  id: string
  group: string
  workspace: string
  onClose: () => void
}

/** The API has no default for what happens to the members, and neither has this. */
export function DeleteMapping({ id, group, workspace, onClose }: DeleteMappingProps) {
  const refresh = useScimRefresh()
  const [choice, setChoice] = useState<string | null>(null)
  const remove = async () => {
    if (choice === null) throw new Error('First choose what happens to the members.')
    const query = { keep_members: choice === 'keep' }
    await client.DELETE('/scim/group-mappings/{id}', { params: { path: { id }, query } })
    await refresh()
  }
  return (
    <ConfirmByName title="Delete a mapping" name={group} action="Delete" onConfirm={remove} onClose={onClose}>
      <Radio.Group
        label={`People who are in ${workspace} only because of ${group}`}
        required
        value={choice}
        onChange={setChoice}
      >
        <Stack gap="xs" pt="xs">
          <Radio value="remove" label="leave the workspace" />
          <Radio value="keep" label="stay, as if somebody had added them" />
        </Stack>
      </Radio.Group>
    </ConfirmByName>
  )
}
