// The nodes of the steps that an attribution suspects. Pure.
import type {RunModel} from '../model/run_model';
import type {Node} from '../model/types';

// In the order given; steps without a node on the page are left out.
export const suspectNodes = (model: RunModel, suspects: readonly {event?: string}[]): Node[] =>
  suspects
    .map((suspect) => (suspect.event === undefined ? undefined : model.get('event', suspect.event)))
    .filter((node): node is Node => node !== undefined);
