import { Avatar, Button, Modal, SimpleGrid, Stack, Text, TextInput } from '@mantine/core'
import type { UseQueryResult } from '@tanstack/react-query'
import { type KeyboardEvent, useState } from 'react'
import type { Schemas } from '../../api/client.ts'
import { SearchIcon } from '../icons.tsx'
import { QueryView } from '../query-view.tsx'
import { findProviders } from './find-providers.ts'
import { readAddress } from './server-draft.ts'

type Provider = Schemas['ProviderHealth']

interface ProviderGalleryProps {
  query: UseQueryResult<{ data: Provider[] }, unknown>
  onProvider: (provider: Provider) => void
  /** Absent for those who cannot add a server. */
  onServer?: (address: string) => void
  onClose: () => void
}

/** All providers that a key can be added for, and a server of one's own. */
export function ProviderGallery({ query, onProvider, onServer, onClose }: ProviderGalleryProps) {
  const [text, setText] = useState('')
  const address = readAddress(text)
  const found = address === null ? findProviders(query.data?.data ?? [], text) : []
  const showsServer = onServer && (address !== null || /^\s*$/.test(text) || found.length === 0)
  const chooseFirst = (event: KeyboardEvent) => {
    if (event.key !== 'Enter' || text.trim() === '') return
    event.preventDefault()
    const [first] = found
    if (first) onProvider(first)
    else onServer?.(address ?? '')
  }
  return (
    <Modal
      opened
      onClose={onClose}
      title="Add a provider"
      size="xl"
      closeButtonProps={{ 'aria-label': 'Close' }}
    >
      <Stack>
        <TextInput
          aria-label="Search providers"
          placeholder={onServer ? 'Name, or the address of a server' : 'Name'}
          leftSection={<SearchIcon />}
          value={text}
          maxLength={2000}
          data-autofocus
          onChange={(event) => setText(event.currentTarget.value)}
          onKeyDown={chooseFirst}
        />
        {showsServer && (
          <Tile
            name="Other OpenAI-compatible server"
            hint={address ?? 'vLLM, Ollama, LM Studio, or a gateway of your company'}
            monogram="+"
            onClick={() => onServer(address ?? '')}
          />
        )}
        <QueryView query={query}>
          {() => (
            <SimpleGrid cols={{ base: 1, xs: 2, sm: 3 }} spacing="xs" verticalSpacing="xs">
              {found.map((provider) => (
                <Tile
                  key={provider.provider}
                  name={provider.provider_name}
                  {...(provider.state !== 'no_credential' && { hint: 'Has a key' })}
                  onClick={() => onProvider(provider)}
                />
              ))}
            </SimpleGrid>
          )}
        </QueryView>
        {query.data && found.length === 0 && !showsServer && (
          <Text size="sm" c="dimmed">
            No provider has this name.
          </Text>
        )}
      </Stack>
    </Modal>
  )
}

interface TileProps {
  name: string
  hint?: string
  /** The initials by default. */
  monogram?: string
  onClick: () => void
}

function Tile({ name, hint, monogram, onClick }: TileProps) {
  return (
    <Button
      variant="default"
      h="auto"
      py={8}
      justify="flex-start"
      leftSection={
        <Avatar size={30} radius="sm" aria-hidden variant="default" {...(!monogram && { name })}>
          {monogram}
        </Avatar>
      }
      styles={{ inner: { width: '100%' }, label: { whiteSpace: 'normal', textAlign: 'left' } }}
      onClick={onClick}
    >
      <span>
        <Text span size="sm" fw={600} display="block">
          {name}
        </Text>
        {hint && (
          <Text span size="xs" c="dimmed" display="block" style={{ overflowWrap: 'anywhere' }}>
            {hint}
          </Text>
        )}
      </span>
    </Button>
  )
}
