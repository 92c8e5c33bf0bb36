CREATE TABLE `session` (
	`id` text PRIMARY KEY,
	`project_id` text NOT NULL,
	`parent_id` text,
	`slug` text NOT NULL,
	`directory` text NOT NULL,
	`title` text NOT NULL,
	`version` text NOT NULL,
	`share_url` text,
	`summary_additions` integer,
	`summary_deletions` integer,
	`summary_files` integer,
	`summary_diffs` text,
	`revert` text,
	`permission` text,
	`time_created` integer NOT NULL,
	`time_updated` integer NOT NULL,
	`time_compacting` integer,
	`time_archived` integer,
	CONSTRAINT `fk_session_project_id_project_id_fk` FOREIGN KEY (`project_id`) REFERENCES `project`(`id`) ON DELETE CASCADE
);
CREATE TABLE `message` (
	`id` text PRIMARY KEY,
	`session_id` text NOT NULL,
	`time_created` integer NOT NULL,
	`time_updated` integer NOT NULL,
	`data` text NOT NULL,
	CONSTRAINT `fk_message_session_id_session_id_fk` FOREIGN KEY (`session_id`) REFERENCES `session`(`id`) ON DELETE CASCADE
);
CREATE TABLE `part` (
	`id` text PRIMARY KEY,
	`message_id` text NOT NULL,
	`session_id` text NOT NULL,
	`time_created` integer NOT NULL,
	`time_updated` integer NOT NULL,
	`data` text NOT NULL,
	CONSTRAINT `fk_part_message_id_message_id_fk` FOREIGN KEY (`message_id`) REFERENCES `message`(`id`) ON DELETE CASCADE
);
INSERT INTO "message" VALUES('msg_20dabdda00010WvzGgPnInq3de','ses_df2542344ffeJNWphUpMNps06x',1795525696928,1795525699102,'{"role":"user","time":{"created":1795525696928},"summary":{"diffs":[]},"agent":"build","model":{"providerID":"fake","modelID":"fake"}}');
INSERT INTO "message" VALUES('msg_20dabe00c001MDSmbixrRhoO1x','ses_df2542344ffeJNWphUpMNps06x',1795525697548,1795525698390,'{"role":"assistant","time":{"created":1795525697548,"completed":1795525698390},"parentID":"msg_20dabdda00010WvzGgPnInq3de","modelID":"fake","providerID":"fake","mode":"build","agent":"build","path":{"cwd":"/home/dev/project","root":"/"},"cost":0,"tokens":{"total":110,"input":100,"output":10,"reasoning":0,"cache":{"read":0,"write":0}},"finish":"tool-calls"}');
INSERT INTO "message" VALUES('msg_20dabe358001BoHzb5YYgAxm1G','ses_df2542344ffeJNWphUpMNps06x',1795525698392,1795525698440,'{"role":"assistant","time":{"created":1795525698392,"completed":1795525698440},"parentID":"msg_20dabdda00010WvzGgPnInq3de","modelID":"fake","providerID":"fake","mode":"build","agent":"build","path":{"cwd":"/home/dev/project","root":"/"},"cost":0,"tokens":{"total":110,"input":100,"output":10,"reasoning":0,"cache":{"read":0,"write":0}},"finish":"tool-calls"}');
INSERT INTO "message" VALUES('msg_20dabe38e001rL0dEfefbK8Vy5','ses_df2542344ffeJNWphUpMNps06x',1795525698446,1795525698627,'{"role":"assistant","time":{"created":1795525698446,"completed":1795525698626},"parentID":"msg_20dabdda00010WvzGgPnInq3de","modelID":"fake","providerID":"fake","mode":"build","agent":"build","path":{"cwd":"/home/dev/project","root":"/"},"cost":0,"tokens":{"total":110,"input":100,"output":10,"reasoning":0,"cache":{"read":0,"write":0}},"finish":"tool-calls"}');
INSERT INTO "message" VALUES('msg_20dabe444001muTgFfKvgRRlIF','ses_df2542344ffeJNWphUpMNps06x',1795525698628,1795525698739,'{"role":"assistant","time":{"created":1795525698628,"completed":1795525698739},"parentID":"msg_20dabdda00010WvzGgPnInq3de","modelID":"fake","providerID":"fake","mode":"build","agent":"build","path":{"cwd":"/home/dev/project","root":"/"},"cost":0,"tokens":{"total":110,"input":100,"output":10,"reasoning":0,"cache":{"read":0,"write":0}},"finish":"tool-calls"}');
INSERT INTO "message" VALUES('msg_20dabe4b4001CvxSJeBYlnfx8B','ses_df2542344ffeJNWphUpMNps06x',1795525698740,1795525698998,'{"role":"assistant","time":{"created":1795525698740,"completed":1795525698998},"parentID":"msg_20dabdda00010WvzGgPnInq3de","modelID":"fake","providerID":"fake","mode":"build","agent":"build","path":{"cwd":"/home/dev/project","root":"/"},"cost":0,"tokens":{"total":110,"input":100,"output":10,"reasoning":0,"cache":{"read":0,"write":0}},"finish":"tool-calls"}');
INSERT INTO "message" VALUES('msg_20dabe5bc001gMGDQ6UuKsPe77','ses_df2542344ffeJNWphUpMNps06x',1795525699004,1795525699109,'{"role":"assistant","time":{"created":1795525699004,"completed":1795525699109},"parentID":"msg_20dabdda00010WvzGgPnInq3de","modelID":"fake","providerID":"fake","mode":"build","agent":"build","path":{"cwd":"/home/dev/project","root":"/"},"cost":0,"tokens":{"total":110,"input":100,"output":10,"reasoning":0,"cache":{"read":0,"write":0}},"finish":"stop"}');
INSERT INTO "part" VALUES('prt_20dabdda1001WB5DdoSmiuz9Z8','msg_20dabdda00010WvzGgPnInq3de','ses_df2542344ffeJNWphUpMNps06x',1795525696954,1795525696954,'{"type":"text","text":"\"[[part:main]] go\"\n"}');
INSERT INTO "part" VALUES('prt_20dabe139001ZJLs4AlyGTzjrO','msg_20dabe00c001MDSmbixrRhoO1x','ses_df2542344ffeJNWphUpMNps06x',1795525697849,1795525697850,'{"type":"step-start"}');
INSERT INTO "part" VALUES('prt_20dabe13c0019LAzIZOdFE8Zrw','msg_20dabe00c001MDSmbixrRhoO1x','ses_df2542344ffeJNWphUpMNps06x',1795525697853,1795525698383,'{"type":"tool","callID":"call_main_0_0","tool":"bash","state":{"status":"completed","input":{"command":"echo hi","description":"greets"},"output":"hi\n","title":"greets","metadata":{"output":"hi\n","exit":0,"description":"greets","truncated":false},"time":{"start":1795525697865,"end":1795525698382}}}');
INSERT INTO "part" VALUES('prt_20dabe351001uDnSKd6811GR0D','msg_20dabe00c001MDSmbixrRhoO1x','ses_df2542344ffeJNWphUpMNps06x',1795525698386,1795525698386,'{"type":"step-finish","reason":"tool-calls","cost":0,"tokens":{"total":110,"input":100,"output":10,"reasoning":0,"cache":{"read":0,"write":0}}}');
INSERT INTO "part" VALUES('prt_20dabe36f001xMB2N7uj6hhHht','msg_20dabe358001BoHzb5YYgAxm1G','ses_df2542344ffeJNWphUpMNps06x',1795525698415,1795525698415,'{"type":"step-start"}');
INSERT INTO "part" VALUES('prt_20dabe370001Rhmt3JwKR82AS7','msg_20dabe358001BoHzb5YYgAxm1G','ses_df2542344ffeJNWphUpMNps06x',1795525698416,1795525698427,'{"type":"tool","callID":"call_main_1_0","tool":"bash","state":{"status":"completed","input":{"command":"echo hi","description":"greets"},"output":"hi\n","title":"greets","metadata":{"output":"hi\n","exit":0,"description":"greets","truncated":false},"time":{"start":1795525698418,"end":1795525698427}}}');
INSERT INTO "part" VALUES('prt_20dabe37c001dv2WfIwLuzWQDN','msg_20dabe358001BoHzb5YYgAxm1G','ses_df2542344ffeJNWphUpMNps06x',1795525698428,1795525698428,'{"type":"step-finish","reason":"tool-calls","cost":0,"tokens":{"total":110,"input":100,"output":10,"reasoning":0,"cache":{"read":0,"write":0}}}');
INSERT INTO "part" VALUES('prt_20dabe417001c3ANgIfrsxflzA','msg_20dabe38e001rL0dEfefbK8Vy5','ses_df2542344ffeJNWphUpMNps06x',1795525698583,1795525698584,'{"type":"step-start"}');
INSERT INTO "part" VALUES('prt_20dabe423001GFKJXj6e7Ctk97','msg_20dabe38e001rL0dEfefbK8Vy5','ses_df2542344ffeJNWphUpMNps06x',1795525698595,1795525698622,'{"type":"tool","callID":"call_main_2_0","tool":"bash","state":{"status":"completed","input":{"command":"echo hi","description":"greets"},"output":"hi\n","title":"greets","metadata":{"output":"hi\n","exit":0,"description":"greets","truncated":false},"time":{"start":1795525698605,"end":1795525698622}}}');
INSERT INTO "part" VALUES('prt_20dabe43f001rRolfzUnk5qe3v','msg_20dabe38e001rL0dEfefbK8Vy5','ses_df2542344ffeJNWphUpMNps06x',1795525698623,1795525698623,'{"type":"step-finish","reason":"tool-calls","cost":0,"tokens":{"total":110,"input":100,"output":10,"reasoning":0,"cache":{"read":0,"write":0}}}');
INSERT INTO "part" VALUES('prt_20dabe48b001iFGKogYEv8zSrE','msg_20dabe444001muTgFfKvgRRlIF','ses_df2542344ffeJNWphUpMNps06x',1795525698699,1795525698699,'{"type":"step-start"}');
INSERT INTO "part" VALUES('prt_20dabe48c001g5WNuouMU3GpcZ','msg_20dabe444001muTgFfKvgRRlIF','ses_df2542344ffeJNWphUpMNps06x',1795525698700,1795525698734,'{"type":"tool","callID":"call_main_3_0","tool":"bash","state":{"status":"completed","input":{"command":"echo hi","description":"greets"},"output":"hi\n","title":"greets","metadata":{"output":"hi\n","exit":0,"description":"greets","truncated":false},"time":{"start":1795525698722,"end":1795525698734}}}');
INSERT INTO "part" VALUES('prt_20dabe4af001c0f358nbCoaHq3','msg_20dabe444001muTgFfKvgRRlIF','ses_df2542344ffeJNWphUpMNps06x',1795525698735,1795525698735,'{"type":"step-finish","reason":"tool-calls","cost":0,"tokens":{"total":110,"input":100,"output":10,"reasoning":0,"cache":{"read":0,"write":0}}}');
INSERT INTO "part" VALUES('prt_20dabe560001gRefbVhIPKDxvX','msg_20dabe4b4001CvxSJeBYlnfx8B','ses_df2542344ffeJNWphUpMNps06x',1795525698912,1795525698912,'{"type":"step-start"}');
INSERT INTO "part" VALUES('prt_20dabe561001JA4yM1XTe0P0Zx','msg_20dabe4b4001CvxSJeBYlnfx8B','ses_df2542344ffeJNWphUpMNps06x',1795525698913,1795525698994,'{"type":"tool","callID":"call_main_4_0","tool":"bash","state":{"status":"completed","input":{"command":"echo hi","description":"greets"},"output":"hi\n","title":"greets","metadata":{"output":"hi\n","exit":0,"description":"greets","truncated":false},"time":{"start":1795525698926,"end":1795525698993}}}');
INSERT INTO "part" VALUES('prt_20dabe5b2001ScTR10PKlMgr6N','msg_20dabe4b4001CvxSJeBYlnfx8B','ses_df2542344ffeJNWphUpMNps06x',1795525698994,1795525698995,'{"type":"step-finish","reason":"tool-calls","cost":0,"tokens":{"total":110,"input":100,"output":10,"reasoning":0,"cache":{"read":0,"write":0}}}');
INSERT INTO "part" VALUES('prt_20dabe605001U6c7f3lDnalHHM','msg_20dabe5bc001gMGDQ6UuKsPe77','ses_df2542344ffeJNWphUpMNps06x',1795525699077,1795525699077,'{"type":"step-start"}');
INSERT INTO "part" VALUES('prt_20dabe6060014eUbiDHlvleI0D','msg_20dabe5bc001gMGDQ6UuKsPe77','ses_df2542344ffeJNWphUpMNps06x',1795525699079,1795525699081,'{"type":"text","text":"All done.","time":{"start":1795525699081,"end":1795525699081}}');
INSERT INTO "part" VALUES('prt_20dabe616001eA8bfI1nLKPnW0','msg_20dabe5bc001gMGDQ6UuKsPe77','ses_df2542344ffeJNWphUpMNps06x',1795525699094,1795525699094,'{"type":"step-finish","reason":"stop","cost":0,"tokens":{"total":110,"input":100,"output":10,"reasoning":0,"cache":{"read":0,"write":0}}}');
INSERT INTO "session" VALUES('ses_df2542344ffeJNWphUpMNps06x','global',NULL,'hidden-comet','/home/dev/project','ok','1.2.11',NULL,0,0,0,NULL,NULL,'[{"permission":"question","pattern":"*","action":"deny"},{"permission":"plan_enter","pattern":"*","action":"deny"},{"permission":"plan_exit","pattern":"*","action":"deny"}]',1795525696700,1795525699102,NULL,NULL);
