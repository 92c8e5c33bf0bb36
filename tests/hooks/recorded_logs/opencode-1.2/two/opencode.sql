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
INSERT INTO "message" VALUES('msg_20dab913b001svgEsm8bhELY1O','ses_df2546f7cffe7S3VEkBZy38MXC',1795525677371,1795525677890,'{"role":"user","time":{"created":1795525677371},"summary":{"diffs":[]},"agent":"build","model":{"providerID":"fake","modelID":"fake"}}');
INSERT INTO "message" VALUES('msg_20dab91e8001QM090U28gsoJP0','ses_df2546f7cffe7S3VEkBZy38MXC',1795525677544,1795525677833,'{"role":"assistant","time":{"created":1795525677544,"completed":1795525677833},"parentID":"msg_20dab913b001svgEsm8bhELY1O","modelID":"fake","providerID":"fake","mode":"build","agent":"build","path":{"cwd":"/home/dev/project","root":"/"},"cost":0,"tokens":{"total":110,"input":100,"output":10,"reasoning":0,"cache":{"read":0,"write":0}},"finish":"tool-calls"}');
INSERT INTO "message" VALUES('msg_20dab924e001L1suD35G1u7Ycw','ses_df2546db4ffe4CaYysv90qWDeQ',1795525677648,1795525677827,'{"role":"user","time":{"created":1795525677648},"summary":{"diffs":[]},"agent":"general","model":{"providerID":"fake","modelID":"fake"},"tools":{"todowrite":false,"todoread":false,"task":false}}');
INSERT INTO "message" VALUES('msg_20dab92560022D5mTCYrzFwSYT','ses_df2546db4ffe4CaYysv90qWDeQ',1795525677654,1795525677799,'{"role":"assistant","time":{"created":1795525677654,"completed":1795525677799},"parentID":"msg_20dab924e001L1suD35G1u7Ycw","modelID":"fake","providerID":"fake","mode":"general","agent":"general","path":{"cwd":"/home/dev/project","root":"/"},"cost":0,"tokens":{"total":110,"input":100,"output":10,"reasoning":0,"cache":{"read":0,"write":0}},"finish":"tool-calls"}');
INSERT INTO "message" VALUES('msg_20dab9255001w3H28l3wieK8bQ','ses_df2546dafffdCdPrZELn51yCdT',1795525677654,1795525677762,'{"role":"user","time":{"created":1795525677654},"summary":{"diffs":[]},"agent":"general","model":{"providerID":"fake","modelID":"fake"},"tools":{"todowrite":false,"todoread":false,"task":false}}');
INSERT INTO "message" VALUES('msg_20dab926100164v5meupYsySMl','ses_df2546dafffdCdPrZELn51yCdT',1795525677665,1795525677765,'{"role":"assistant","time":{"created":1795525677665,"completed":1795525677765},"parentID":"msg_20dab9255001w3H28l3wieK8bQ","modelID":"fake","providerID":"fake","mode":"general","agent":"general","path":{"cwd":"/home/dev/project","root":"/"},"cost":0,"tokens":{"total":110,"input":100,"output":10,"reasoning":0,"cache":{"read":0,"write":0}},"finish":"stop"}');
INSERT INTO "message" VALUES('msg_20dab92eb001z4zzqnemWVLSL6','ses_df2546db4ffe4CaYysv90qWDeQ',1795525677803,1795525677828,'{"role":"assistant","time":{"created":1795525677803,"completed":1795525677828},"parentID":"msg_20dab924e001L1suD35G1u7Ycw","modelID":"fake","providerID":"fake","mode":"general","agent":"general","path":{"cwd":"/home/dev/project","root":"/"},"cost":0,"tokens":{"total":110,"input":100,"output":10,"reasoning":0,"cache":{"read":0,"write":0}},"finish":"stop"}');
INSERT INTO "message" VALUES('msg_20dab930a001zsPUOeRuYGG5Qj','ses_df2546f7cffe7S3VEkBZy38MXC',1795525677834,1795525677891,'{"role":"assistant","time":{"created":1795525677834,"completed":1795525677891},"parentID":"msg_20dab913b001svgEsm8bhELY1O","modelID":"fake","providerID":"fake","mode":"build","agent":"build","path":{"cwd":"/home/dev/project","root":"/"},"cost":0,"tokens":{"total":110,"input":100,"output":10,"reasoning":0,"cache":{"read":0,"write":0}},"finish":"stop"}');
INSERT INTO "part" VALUES('prt_20dab913c001eR2R8vU4xkXSDf','msg_20dab913b001svgEsm8bhELY1O','ses_df2546f7cffe7S3VEkBZy38MXC',1795525677378,1795525677378,'{"type":"text","text":"\"[[part:main]] go\"\n"}');
INSERT INTO "part" VALUES('prt_20dab9242001Oc1S5e1Q7Tr6i7','msg_20dab91e8001QM090U28gsoJP0','ses_df2546f7cffe7S3VEkBZy38MXC',1795525677635,1795525677635,'{"type":"step-start"}');
INSERT INTO "part" VALUES('prt_20dab9243001DDjwapcd2FoEN9','msg_20dab91e8001QM090U28gsoJP0','ses_df2546f7cffe7S3VEkBZy38MXC',1795525677636,1795525677830,'{"type":"tool","callID":"call_main_0_0","tool":"task","state":{"status":"completed","input":{"subagent_type":"general","description":"a","prompt":"[[part:a]] work"},"output":"task_id: ses_df2546db4ffe4CaYysv90qWDeQ (for resuming to continue this task if needed)\n\n<task_result>\nresult a\n</task_result>","title":"a","metadata":{"sessionId":"ses_df2546db4ffe4CaYysv90qWDeQ","model":{"modelID":"fake","providerID":"fake"},"truncated":false},"time":{"start":1795525677641,"end":1795525677830}}}');
INSERT INTO "part" VALUES('prt_20dab924c001e0EkqkxQnf6Z7T','msg_20dab91e8001QM090U28gsoJP0','ses_df2546f7cffe7S3VEkBZy38MXC',1795525677644,1795525677770,'{"type":"tool","callID":"call_main_0_1","tool":"task","state":{"status":"completed","input":{"subagent_type":"general","description":"b","prompt":"[[part:b]] work"},"output":"task_id: ses_df2546dafffdCdPrZELn51yCdT (for resuming to continue this task if needed)\n\n<task_result>\nresult b\n</task_result>","title":"b","metadata":{"sessionId":"ses_df2546dafffdCdPrZELn51yCdT","model":{"modelID":"fake","providerID":"fake"},"truncated":false},"time":{"start":1795525677649,"end":1795525677769}}}');
INSERT INTO "part" VALUES('prt_20dab9250001LyX63YhRbklHQ6','msg_20dab924e001L1suD35G1u7Ycw','ses_df2546db4ffe4CaYysv90qWDeQ',1795525677649,1795525677649,'{"type":"text","text":"[[part:a]] work"}');
INSERT INTO "part" VALUES('prt_20dab9256001jPcm6ijFLJB6iK','msg_20dab9255001w3H28l3wieK8bQ','ses_df2546dafffdCdPrZELn51yCdT',1795525677656,1795525677656,'{"type":"text","text":"[[part:b]] work"}');
INSERT INTO "part" VALUES('prt_20dab9280001bSI8sIa3JHU7Oy','msg_20dab92560022D5mTCYrzFwSYT','ses_df2546db4ffe4CaYysv90qWDeQ',1795525677696,1795525677696,'{"type":"step-start"}');
INSERT INTO "part" VALUES('prt_20dab9281001bgRzeDud33NFre','msg_20dab92560022D5mTCYrzFwSYT','ses_df2546db4ffe4CaYysv90qWDeQ',1795525677697,1795525677787,'{"type":"tool","callID":"call_a_0_0","tool":"bash","state":{"status":"completed","input":{"command":"echo hi","description":"greets"},"output":"hi\n","title":"greets","metadata":{"output":"hi\n","exit":0,"description":"greets","truncated":false},"time":{"start":1795525677713,"end":1795525677787}}}');
INSERT INTO "part" VALUES('prt_20dab92bb001mLMVTDlRi2WhZQ','msg_20dab926100164v5meupYsySMl','ses_df2546dafffdCdPrZELn51yCdT',1795525677755,1795525677755,'{"type":"step-start"}');
INSERT INTO "part" VALUES('prt_20dab92bb002naWHuS10QZlgrH','msg_20dab926100164v5meupYsySMl','ses_df2546dafffdCdPrZELn51yCdT',1795525677756,1795525677757,'{"type":"text","text":"result b","time":{"start":1795525677757,"end":1795525677757}}');
INSERT INTO "part" VALUES('prt_20dab92bf001dSMqa17Wziy3gX','msg_20dab926100164v5meupYsySMl','ses_df2546dafffdCdPrZELn51yCdT',1795525677760,1795525677760,'{"type":"step-finish","reason":"stop","cost":0,"tokens":{"total":110,"input":100,"output":10,"reasoning":0,"cache":{"read":0,"write":0}}}');
INSERT INTO "part" VALUES('prt_20dab92dc001iLyu1GFY5kbMO2','msg_20dab92560022D5mTCYrzFwSYT','ses_df2546db4ffe4CaYysv90qWDeQ',1795525677789,1795525677789,'{"type":"step-finish","reason":"tool-calls","cost":0,"tokens":{"total":110,"input":100,"output":10,"reasoning":0,"cache":{"read":0,"write":0}}}');
INSERT INTO "part" VALUES('prt_20dab92ff001FSPEAr6Xv3QUGG','msg_20dab92eb001z4zzqnemWVLSL6','ses_df2546db4ffe4CaYysv90qWDeQ',1795525677823,1795525677823,'{"type":"step-start"}');
INSERT INTO "part" VALUES('prt_20dab92ff002BQKdFZMd2hUc5J','msg_20dab92eb001z4zzqnemWVLSL6','ses_df2546db4ffe4CaYysv90qWDeQ',1795525677823,1795525677824,'{"type":"text","text":"result a","time":{"start":1795525677824,"end":1795525677824}}');
INSERT INTO "part" VALUES('prt_20dab9301001TsIqmaEZtS7BvR','msg_20dab92eb001z4zzqnemWVLSL6','ses_df2546db4ffe4CaYysv90qWDeQ',1795525677825,1795525677825,'{"type":"step-finish","reason":"stop","cost":0,"tokens":{"total":110,"input":100,"output":10,"reasoning":0,"cache":{"read":0,"write":0}}}');
INSERT INTO "part" VALUES('prt_20dab9307001CKnWiHmfUE5BvW','msg_20dab91e8001QM090U28gsoJP0','ses_df2546f7cffe7S3VEkBZy38MXC',1795525677831,1795525677831,'{"type":"step-finish","reason":"tool-calls","cost":0,"tokens":{"total":110,"input":100,"output":10,"reasoning":0,"cache":{"read":0,"write":0}}}');
INSERT INTO "part" VALUES('prt_20dab933c001gPX9ooVkV6lN8q','msg_20dab930a001zsPUOeRuYGG5Qj','ses_df2546f7cffe7S3VEkBZy38MXC',1795525677884,1795525677885,'{"type":"step-start"}');
INSERT INTO "part" VALUES('prt_20dab933e001r0tEQf4oUdUf8q','msg_20dab930a001zsPUOeRuYGG5Qj','ses_df2546f7cffe7S3VEkBZy38MXC',1795525677886,1795525677886,'{"type":"text","text":"All done.","time":{"start":1795525677886,"end":1795525677886}}');
INSERT INTO "part" VALUES('prt_20dab933f001S7GFRsma7YRY23','msg_20dab930a001zsPUOeRuYGG5Qj','ses_df2546f7cffe7S3VEkBZy38MXC',1795525677887,1795525677887,'{"type":"step-finish","reason":"stop","cost":0,"tokens":{"total":110,"input":100,"output":10,"reasoning":0,"cache":{"read":0,"write":0}}}');
INSERT INTO "session" VALUES('ses_df2546f7cffe7S3VEkBZy38MXC','global',NULL,'hidden-cactus','/home/dev/project','ok','1.2.11',NULL,0,0,0,NULL,NULL,'[{"permission":"question","pattern":"*","action":"deny"},{"permission":"plan_enter","pattern":"*","action":"deny"},{"permission":"plan_exit","pattern":"*","action":"deny"}]',1795525677187,1795525677889,NULL,NULL);
INSERT INTO "session" VALUES('ses_df2546db4ffe4CaYysv90qWDeQ','global','ses_df2546f7cffe7S3VEkBZy38MXC','shiny-mountain','/home/dev/project','a (@general subagent)','1.2.11',NULL,0,0,0,NULL,NULL,'[{"permission":"todowrite","pattern":"*","action":"deny"},{"permission":"todoread","pattern":"*","action":"deny"},{"permission":"task","pattern":"*","action":"deny"}]',1795525677643,1795525677826,NULL,NULL);
INSERT INTO "session" VALUES('ses_df2546dafffdCdPrZELn51yCdT','global','ses_df2546f7cffe7S3VEkBZy38MXC','brave-cabin','/home/dev/project','b (@general subagent)','1.2.11',NULL,0,0,0,NULL,NULL,'[{"permission":"todowrite","pattern":"*","action":"deny"},{"permission":"todoread","pattern":"*","action":"deny"},{"permission":"task","pattern":"*","action":"deny"}]',1795525677648,1795525677762,NULL,NULL);
