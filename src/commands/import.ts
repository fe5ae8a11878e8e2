import { Command } from 'commander'
import { peers } from '../api/imports/peers.ts'
import type { CommandRunner } from './command.ts'
import { importPeerCommand } from './import/peer.ts'

export function importCommand(run: CommandRunner): Command {
  const command = new Command('import').description('import the configuration of another gateway')
  for (const peer of peers) command.addCommand(importPeerCommand(peer, run))
  return command
}
