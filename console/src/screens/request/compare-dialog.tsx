import { List, Text } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { api, type Schemas } from '../../api/client.ts'
import { FormDialog } from '../../components/form-dialog.tsx'
import { TextField } from '../../components/text-field.tsx'
import { TextLink } from '../../components/text-link.tsx'
import { Time } from '../../components/time.tsx'
import { comparableSearch } from './similar.ts'

/** Requests that are offered. */
const maxOffered = 5

interface CompareDialogProps {
  request: Schemas['LoggedRequest']
  onClose: () => void
}

/** Chooses the request to compare with, among the latest with the same model and key, or by its id. */
export function CompareDialog({ request, onClose }: CompareDialogProps) {
  const navigate = useNavigate()
  const [text, setText] = useState('')
  const query = { ...comparableSearch(request), limit: maxOffered + 1 }
  const { data } = useQuery(api.queryOptions('get', '/generations', { params: { query } }))
  const offered = (data?.data ?? []).filter(({ id }) => id !== request.id).slice(0, maxOffered)
  const other = text.trim()
  return (
    <FormDialog
      title="Compare with another request"
      action="Compare"
      isReady={other !== ''}
      onSubmit={() => navigate({ to: '/requests/compare', search: { one: request.id, other } })}
      onClose={onClose}
    >
      {offered.length > 0 && (
        <div>
          <Text size="sm" fw={600} pb={4}>
            Latest with the same model and key
          </Text>
          <List size="sm" aria-label="Latest with the same model and key">
            {offered.map(({ id, created_at, status }) => (
              <List.Item key={id}>
                <TextLink to="/requests/compare" search={{ one: request.id, other: id }}>
                  <Time iso={created_at} />
                </TextLink>
                , {status}
              </List.Item>
            ))}
          </List>
        </div>
      )}
      <TextField
        label="Generation ID"
        placeholder="gen-…"
        value={text}
        onChange={setText}
        maxLength={256}
        data-autofocus
      />
    </FormDialog>
  )
}
